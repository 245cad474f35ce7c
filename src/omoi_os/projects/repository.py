"""Queries on projects."""

from collections.abc import Sequence
from typing import Any
from uuid import UUID

from sqlalchemy import case, exists, select
from sqlalchemy.dialects.postgresql import insert
from sqlalchemy.ext.asyncio import AsyncSession

from omoi_os.accounts.models import User
from omoi_os.projects.models import Project, ProjectMember, ProjectRole
from omoi_os.tasks.lifecycle import OPEN
from omoi_os.tasks.models import Task
from omoi_os.visibility import visible_to


async def get_visible(
    session: AsyncSession, project_id: UUID, *, user: User, for_update: bool = False
) -> Project | None:
    """Return a project that the user may see and that is not deleted; `for_update` locks its row as `lock` does."""
    query = select(Project).where(Project.id == project_id, Project.deleted_at.is_(None), visible_to(user, Project.id))
    if for_update:
        query = query.with_for_update(key_share=True).execution_options(populate_existing=True)
    return (await session.execute(query)).scalar_one_or_none()


async def lock(session: AsyncSession, project_id: UUID) -> Project:
    """Lock the row of an existing project until the transaction ends, and return it freshly read.

    Adding tickets or tasks to the project and deleting it take the same lock.
    """
    query = select(Project).where(Project.id == project_id).with_for_update(key_share=True)
    return (await session.execute(query.execution_options(populate_existing=True))).scalar_one()


async def insert_unless_taken(session: AsyncSession, values: dict[str, Any]) -> Project | None:
    """Insert a project with its creator as owner; return None if they have created one on the same repository."""
    statement = insert(Project).values(values).on_conflict_do_nothing().returning(Project)
    project = (await session.execute(statement)).scalar_one_or_none()
    if project is not None:
        owner = {"project_id": project.id, "user_id": project.created_by, "role": ProjectRole.OWNER}
        await session.execute(insert(ProjectMember).values(owner | {"created_at": project.created_at}))
    return project


async def on_repository(session: AsyncSession, *, user: User, owner: str, repo: str) -> Project | None:
    """Return the project on a repository that the user may see: one they own first, then one they belong to."""
    own = (ProjectMember.project_id == Project.id) & (ProjectMember.user_id == user.id)
    ranks = {ProjectRole.OWNER: 0, ProjectRole.MAINTAINER: 1, ProjectRole.VIEWER: 2}
    query = (
        select(Project)
        .outerjoin(ProjectMember, own)
        .where(
            Project.github_owner == owner,
            Project.github_repo == repo,
            Project.deleted_at.is_(None),
            visible_to(user, Project.id),
        )
        .order_by(case(ranks, value=ProjectMember.role, else_=3), Project.id)
        .limit(1)
    )
    return (await session.execute(query)).scalar_one_or_none()


async def list_projects(
    session: AsyncSession, *, user: User, owner: str | None, repo: str | None, limit: int, before: UUID | None
) -> Sequence[Project]:
    """Return the projects that the user may see, newest first."""
    query = select(Project).where(Project.deleted_at.is_(None), visible_to(user, Project.id))
    query = query.order_by(Project.id.desc()).limit(limit)
    if owner is not None:
        query = query.where(Project.github_owner == owner)
    if repo is not None:
        query = query.where(Project.github_repo == repo)
    if before is not None:
        query = query.where(Project.id < before)
    return (await session.execute(query)).scalars().all()


async def has_open_tasks(session: AsyncSession, project_id: UUID) -> bool:
    """Return whether a task of the project is open."""
    query = select(exists().where(Task.project_id == project_id, Task.status.in_(OPEN)))
    return bool((await session.execute(query)).scalar_one())
