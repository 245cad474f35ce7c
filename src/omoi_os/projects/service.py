"""Creates and changes projects. Each function runs in the caller's transaction."""

from collections.abc import Mapping
from datetime import datetime
from pathlib import Path
from typing import Any
from uuid import UUID

from sqlalchemy.ext.asyncio import AsyncSession

from omoi_os.accounts.models import User
from omoi_os.config import Settings
from omoi_os.errors import Conflict, Forbidden, Invalid, NotFound
from omoi_os.ids import uuid7
from omoi_os.projects import permissions, repository
from omoi_os.projects.models import Project
from omoi_os.projects.permissions import Permission
from omoi_os.projects.schemas import ProjectIn

#: Settings that only administrators can change, with their defaults: they affect resources that projects share.
ADMIN_SETTINGS: Mapping[str, Any] = {"weight": 1, "provider": None}


async def create_project(
    session: AsyncSession, user: User, wanted: ProjectIn, *, settings: Settings, now: datetime
) -> Project:
    """Create a project; raise `Conflict` if the user already has one on the repository."""
    _check_settings(user, wanted.settings.model_dump(mode="json"), current={})
    seed = _seed(wanted.repo_url, user, settings) if wanted.repo_url is not None else None
    project = await repository.insert_unless_taken(session, _values(wanted, user, seed=seed, now=now))
    if project is not None:
        return project
    existing = await _on_repository(session, user, wanted)
    if existing is None:
        raise _left_to_others(wanted)
    raise Conflict(f"you already have project {existing.id} on {wanted.github_owner}/{wanted.github_repo}; use it")


async def find_or_create(
    session: AsyncSession, user: User, wanted: ProjectIn, *, now: datetime
) -> tuple[Project, bool]:
    """Return the project on a repository that the user may see, or a new one, and whether it is new."""
    if (found := await _on_repository(session, user, wanted)) is not None:
        return found, False
    project = await repository.insert_unless_taken(session, _values(wanted, user, seed=None, now=now))
    if project is not None:
        return project, True
    # Another request has created it meanwhile.
    if (found := await _on_repository(session, user, wanted)) is None:
        raise _left_to_others(wanted)
    return found, False


async def get_visible(session: AsyncSession, project_id: UUID, *, user: User) -> Project:
    """Return a project; raise `NotFound` if it does not exist or the user may not see it."""
    project = await repository.get_visible(session, project_id, user=user)
    if project is None:
        raise NotFound(f"there is no project {project_id}")
    return project


async def lock_editable(session: AsyncSession, project_id: UUID, *, user: User) -> Project:
    """Return a project in which the user may create tickets, with its row locked until the transaction ends.

    Raise `NotFound` if it does not exist or the user may not see it, and `Forbidden` if they may only read it.
    """
    project = await repository.get_visible(session, project_id, user=user, for_update=True)
    if project is None:
        raise NotFound(f"there is no project {project_id}")
    await permissions.require(session, user, project.id, Permission.EDIT)
    return project


def update_project(project: Project, changes: Mapping[str, Any], *, user: User, now: datetime) -> Project:
    """Change the given fields and settings; the others keep their value."""
    _check_settings(user, changes.get("settings", {}), current=project.settings)
    for name, value in changes.items():
        merged = {**project.settings, **value} if name == "settings" else value
        setattr(project, name, merged)
    project.updated_at = now
    return project


async def delete_project(session: AsyncSession, project: Project, *, now: datetime) -> None:
    """Mark a project as deleted; its history stays. Raise `Conflict` while a task is open."""
    project = await repository.lock(session, project.id)
    if await repository.has_open_tasks(session, project.id):
        raise Conflict(f"project {project.id} has open tasks; cancel them first")
    project.deleted_at = now


def _check_settings(user: User, wanted: Mapping[str, Any], *, current: Mapping[str, Any]) -> None:
    for name, default in ADMIN_SETTINGS.items():
        if not user.is_admin and wanted.get(name, default) != current.get(name, default) and name in wanted:
            raise Forbidden(f"settings.{name}: only an administrator can change it")


async def _on_repository(session: AsyncSession, user: User, wanted: ProjectIn) -> Project | None:
    owner, repo = wanted.github_owner or "", wanted.github_repo or ""
    return await repository.on_repository(session, user=user, owner=owner, repo=repo)


def _left_to_others(wanted: ProjectIn) -> Conflict:
    """Return the error for a user who was removed from the project that they created on a repository."""
    name = f"{wanted.github_owner}/{wanted.github_repo}"
    return Conflict(f"you are no longer a member of the project that you created on {name}; ask an owner to add you")


def _values(wanted: ProjectIn, user: User, *, seed: str | None, now: datetime) -> dict[str, Any]:
    return {
        "id": uuid7(),
        "name": wanted.name or wanted.github_repo,
        "description": wanted.description,
        "github_owner": wanted.github_owner,
        "github_repo": wanted.github_repo,
        "repo_url": seed,
        "default_branch": wanted.default_branch,
        "forge": wanted.forge,
        "settings": wanted.settings.model_dump(mode="json"),
        "created_by": user.id,
        "created_at": now,
        "updated_at": now,
    }


def _seed(given: str, user: User, settings: Settings) -> str:
    """Return the path of the repository to import. Only administrators may read files of the server."""
    if not given.startswith("/"):
        raise Invalid("repo_url: must be an absolute path on the server; leave it out for an empty repository")
    if not user.is_admin:
        raise Forbidden("repo_url: only an administrator can use a path on the server")
    try:
        path = Path(given).resolve(strict=True)
    except (OSError, ValueError):
        raise Invalid("repo_url: this folder does not exist on the server") from None
    if path.is_relative_to(settings.data_dir.resolve()):
        raise Invalid("repo_url: must not be inside the data folder of OmoiOS")
    if not ((path / ".git").exists() or (path / "HEAD").is_file()):
        raise Invalid("repo_url: this folder is not a git repository")
    return str(path)
