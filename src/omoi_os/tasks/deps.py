"""The task that a path names, if the caller may see or run it."""

from typing import Annotated
from uuid import UUID

from fastapi import Depends, Path

from omoi_os.accounts.deps import CurrentUser
from omoi_os.errors import NotFound
from omoi_os.http.deps import DbSession
from omoi_os.projects import permissions
from omoi_os.projects.permissions import Permission
from omoi_os.tasks import repository
from omoi_os.tasks.models import Task

TaskId = Annotated[UUID, Path(description="Id of a task, as `GET /tasks` lists it.")]


async def visible_task(task_id: TaskId, user: CurrentUser, session: DbSession) -> Task:
    """Return the task; raise `NotFound` if it does not exist or the caller may not see it."""
    task = await repository.get_visible(session, task_id, user=user)
    if task is None:
        raise NotFound(f"there is no task {task_id}")
    return task


VisibleTask = Annotated[Task, Depends(visible_task)]


async def runnable_task(task: VisibleTask, user: CurrentUser, session: DbSession) -> Task:
    """Return the task; raise `Forbidden` if the caller may see it but not run it."""
    await permissions.require(session, user, task.project_id, Permission.RUN)
    return task


RunnableTask = Annotated[Task, Depends(runnable_task)]
