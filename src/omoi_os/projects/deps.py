"""The project that a path names, if the caller may see it."""

from typing import Annotated
from uuid import UUID

from fastapi import Depends

from omoi_os.accounts.deps import CurrentUser
from omoi_os.http.deps import DbSession
from omoi_os.projects import service
from omoi_os.projects.models import Project


async def visible_project(project_id: UUID, user: CurrentUser, session: DbSession) -> Project:
    """The project; 404 when there is none or it is another's."""
    return await service.get_visible(session, project_id, user=user)


VisibleProject = Annotated[Project, Depends(visible_project)]
