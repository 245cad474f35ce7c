"""The task that a path names, if the caller may see it."""

from typing import Annotated
from uuid import UUID

from fastapi import Depends
from sqlalchemy import select
from sqlalchemy.ext.asyncio import AsyncSession

from omoi_os.accounts.deps import CurrentUser
from omoi_os.accounts.models import User
from omoi_os.errors import NotFound
from omoi_os.http.deps import DbSession
from omoi_os.projects.models import Project
from omoi_os.projects.repository import visible
from omoi_os.tasks.models import Task


async def get_visible(session: AsyncSession, task_id: UUID, *, user: User) -> Task:
    """One task; `NotFound` also when it is not the user's to see."""
    query = select(Task).join(Project, Project.id == Task.project_id).where(Task.id == task_id, visible(user))
    task = (await session.execute(query)).scalar_one_or_none()
    if task is None:
        raise NotFound(f"there is no task {task_id}")
    return task


async def visible_task(task_id: UUID, user: CurrentUser, session: DbSession) -> Task:
    """The task; 404 when there is none or it is another's."""
    return await get_visible(session, task_id, user=user)


VisibleTask = Annotated[Task, Depends(visible_task)]
