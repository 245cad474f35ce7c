"""The project that a path names, if the caller may see or manage it."""

from typing import Annotated
from uuid import UUID

from fastapi import Depends, Path

from omoi_os.accounts.deps import CurrentUser
from omoi_os.http.deps import DbSession
from omoi_os.projects import permissions, service
from omoi_os.projects.models import Project
from omoi_os.projects.permissions import Permission

ProjectId = Annotated[UUID, Path(description="Id of a project, as `GET /projects` lists it.")]


async def visible_project(project_id: ProjectId, user: CurrentUser, session: DbSession) -> Project:
    """Return the project; raise `NotFound` if it does not exist or the caller may not see it."""
    return await service.get_visible(session, project_id, user=user)


VisibleProject = Annotated[Project, Depends(visible_project)]


async def managed_project(project: VisibleProject, user: CurrentUser, session: DbSession) -> Project:
    """Return the project; raise `Forbidden` if the caller may see it but not manage it."""
    await permissions.require(session, user, project.id, Permission.MANAGE)
    return project


ManagedProject = Annotated[Project, Depends(managed_project)]
