"""Queries on the members of projects."""

from collections.abc import Sequence
from datetime import datetime
from uuid import UUID

from sqlalchemy import delete, select
from sqlalchemy.dialects.postgresql import insert
from sqlalchemy.ext.asyncio import AsyncSession

from omoi_os.accounts.models import User
from omoi_os.projects.models import ProjectMember, ProjectRole


async def list_members(
    session: AsyncSession, project_id: UUID, *, limit: int, after: UUID | None
) -> Sequence[tuple[ProjectMember, User]]:
    """Return the members of a project and their accounts, the oldest account first."""
    query = select(ProjectMember, User).join(User, User.id == ProjectMember.user_id)
    query = query.where(ProjectMember.project_id == project_id).order_by(ProjectMember.user_id).limit(limit)
    if after is not None:
        query = query.where(ProjectMember.user_id > after)
    return [(row[0], row[1]) for row in await session.execute(query)]


async def get(session: AsyncSession, project_id: UUID, user_id: UUID) -> ProjectMember | None:
    """Return a user's membership, freshly read."""
    return await session.get(ProjectMember, (project_id, user_id), populate_existing=True)


async def store(
    session: AsyncSession, project_id: UUID, user_id: UUID, *, role: ProjectRole, now: datetime
) -> ProjectMember:
    """Insert a membership, or change the role of the existing one, and return it."""
    values = {"project_id": project_id, "user_id": user_id, "role": role, "created_at": now}
    key = [ProjectMember.project_id, ProjectMember.user_id]
    statement = insert(ProjectMember).values(values).on_conflict_do_update(index_elements=key, set_={"role": role})
    found = await session.execute(statement.returning(ProjectMember), execution_options={"populate_existing": True})
    return found.scalar_one()


async def remove(session: AsyncSession, project_id: UUID, user_id: UUID) -> None:
    """Delete a membership."""
    await session.execute(
        delete(ProjectMember).where(ProjectMember.project_id == project_id, ProjectMember.user_id == user_id)
    )


async def active_owners(session: AsyncSession, project_id: UUID) -> Sequence[UUID]:
    """Return the owners of a project whose accounts are active."""
    query = select(ProjectMember.user_id).join(User, User.id == ProjectMember.user_id)
    query = query.where(
        ProjectMember.project_id == project_id,
        ProjectMember.role == ProjectRole.OWNER,
        User.deactivated_at.is_(None),
    )
    return (await session.execute(query)).scalars().all()
