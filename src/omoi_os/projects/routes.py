"""Projects: a git repository plus settings."""

from collections.abc import Sequence
from typing import Annotated

from fastapi import Query
from sqlalchemy.ext.asyncio import AsyncSession

from omoi_os.accounts.deps import CurrentUser
from omoi_os.accounts.idempotency import OnlyOnce
from omoi_os.accounts.models import User
from omoi_os.config import Settings
from omoi_os.http import paging
from omoi_os.http.deps import AppSettings, DbSession, Now
from omoi_os.http.problems import problems
from omoi_os.http.routers import make_router
from omoi_os.projects import permissions, repository, service
from omoi_os.projects.deps import ManagedProject, VisibleProject
from omoi_os.projects.models import Project, ProjectRole
from omoi_os.projects.schemas import ProjectIn, ProjectOut, ProjectPage, ProjectPatch, RepositoryName

router = make_router("/projects", tags=["projects"], refusals=(401, 403, 413, 422, 503))


async def _shown(
    session: AsyncSession, user: User, projects: Sequence[Project], settings: Settings
) -> list[ProjectOut]:
    """Return the projects with the caller's role in each, with one query for any number of them."""
    roles = await permissions.roles_in(session, user, [project.id for project in projects])
    return [_out(project, settings, role=roles[project.id]) for project in projects]


@router.post("", status_code=201, summary="Create a project", responses=problems(409))
async def create_project(
    user: CurrentUser, body: ProjectIn, once: OnlyOnce, session: DbSession, settings: AppSettings, now: Now
) -> ProjectOut:
    """Create a project and become its owner. Its repository is created on the forge when the first task needs it.

    You can have one project on a repository: a second one answers 409 and names the first.
    """
    project = await service.create_project(session, user, body, settings=settings, now=now)
    return once.answer(_out(project, settings, role=ProjectRole.OWNER))


@router.get("", summary="List projects")
async def list_projects(
    user: CurrentUser,
    session: DbSession,
    settings: AppSettings,
    github_owner: Annotated[
        RepositoryName | None, Query(description="Return only projects whose repository has this owner.")
    ] = None,
    github_repo: Annotated[
        RepositoryName | None, Query(description="Return only projects whose repository has this name.")
    ] = None,
    limit: paging.Limit = 50,
    cursor: paging.Cursor = None,
) -> ProjectPage:
    """Return the projects you may see, newest first."""
    before = paging.before_id("projects", cursor)
    rows = await repository.list_projects(
        session, user=user, owner=github_owner, repo=github_repo, limit=limit + 1, before=before
    )
    projects, next_cursor = paging.cut(rows, limit, lambda project: paging.encode("projects", project.id))
    return ProjectPage(items=await _shown(session, user, projects, settings), next_cursor=next_cursor)


@router.get("/{project_id}", summary="Show a project", responses=problems(404))
async def get_project(
    project: VisibleProject, user: CurrentUser, session: DbSession, settings: AppSettings
) -> ProjectOut:
    """Return a project and your role in it."""
    return (await _shown(session, user, [project], settings))[0]


@router.patch("/{project_id}", summary="Change a project", responses=problems(404))
async def update_project(
    project: ManagedProject, body: ProjectPatch, user: CurrentUser, settings: AppSettings, now: Now
) -> ProjectOut:
    """Change the given fields and settings; the others keep their value. Only owners can do this."""
    changes = body.model_dump(mode="json", exclude_unset=True)
    return _out(service.update_project(project, changes, user=user, now=now), settings, role=ProjectRole.OWNER)


@router.delete("/{project_id}", status_code=204, summary="Delete a project", responses=problems(404, 409))
async def delete_project(project: ManagedProject, session: DbSession, now: Now) -> None:
    """Delete a project; only owners can do this. Its tickets and tasks stay readable.

    Answers 409 while a task is open.
    """
    await service.delete_project(session, project, now=now)


def _out(project: Project, settings: Settings, *, role: ProjectRole) -> ProjectOut:
    return ProjectOut.of(project, role=role, public_url=settings.effective_public_url)
