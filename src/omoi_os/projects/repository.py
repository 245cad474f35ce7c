"""Queries on projects."""

from collections.abc import Sequence
from typing import Any
from uuid import UUID

from sqlalchemy import ColumnElement, exists, select, true
from sqlalchemy.dialects.postgresql import insert
from sqlalchemy.ext.asyncio import AsyncSession

from omoi_os.accounts.models import Role, User
from omoi_os.projects.models import Project
from omoi_os.tasks.lifecycle import OPEN
from omoi_os.tasks.models import Task


def owner_seen_by(user_id: UUID, role: str) -> UUID | None:
    """The one rule of who sees a project and what belongs to it: whose projects a user sees; None for everyone's."""
    return None if role == Role.ADMIN else user_id


def visible(user: User) -> ColumnElement[bool]:
    """The same rule for a query."""
    owner = owner_seen_by(user.id, user.role)
    return true() if owner is None else Project.created_by == owner


async def get_visible(session: AsyncSession, project_id: UUID, *, user: User, hold: bool = False) -> Project | None:
    """One project that the user may see and that was not deleted; with `hold` as `lock` has it."""
    query = select(Project).where(Project.id == project_id, Project.deleted_at.is_(None), visible(user))
    if hold:
        query = query.with_for_update(key_share=True).execution_options(populate_existing=True)
    return (await session.execute(query)).scalar_one_or_none()


async def lock(session: AsyncSession, project_id: UUID) -> Project:
    """One project that exists, freshly read; what is added to it or ends it waits until the transaction ends."""
    query = select(Project).where(Project.id == project_id).with_for_update(key_share=True)
    return (await session.execute(query.execution_options(populate_existing=True))).scalar_one()


async def insert_unless_taken(session: AsyncSession, values: dict[str, Any]) -> Project | None:
    """A new project, or None when its creator has one on the same repository."""
    statement = insert(Project).values(values).on_conflict_do_nothing().returning(Project)
    return (await session.execute(statement)).scalar_one_or_none()


async def on_repository(session: AsyncSession, *, created_by: UUID, owner: str, repo: str) -> Project | None:
    """A user's own project on a repository."""
    query = select(Project).where(
        Project.created_by == created_by,
        Project.github_owner == owner,
        Project.github_repo == repo,
        Project.deleted_at.is_(None),
    )
    return (await session.execute(query)).scalar_one_or_none()


async def list_projects(
    session: AsyncSession, *, user: User, owner: str | None, repo: str | None, limit: int, before: UUID | None
) -> Sequence[Project]:
    """Newest first, only what the user may see."""
    query = select(Project).where(Project.deleted_at.is_(None), visible(user)).order_by(Project.id.desc()).limit(limit)
    if owner is not None:
        query = query.where(Project.github_owner == owner)
    if repo is not None:
        query = query.where(Project.github_repo == repo)
    if before is not None:
        query = query.where(Project.id < before)
    return (await session.execute(query)).scalars().all()


async def has_open_tasks(session: AsyncSession, project_id: UUID) -> bool:
    """Whether something in the project is still to be done."""
    query = select(exists().where(Task.project_id == project_id, Task.status.in_(OPEN)))
    return bool((await session.execute(query)).scalar_one())
