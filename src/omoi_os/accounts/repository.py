"""Queries on users and their keys."""

from collections.abc import Sequence
from uuid import UUID

from sqlalchemy import select
from sqlalchemy.ext.asyncio import AsyncSession

from omoi_os.accounts.models import ApiKey, User


async def get(session: AsyncSession, user_id: UUID) -> User | None:
    """One user."""
    return await session.get(User, user_id)


async def by_email(session: AsyncSession, email: str) -> User | None:
    """The user with this address."""
    return (await session.execute(select(User).where(User.email == email))).scalar_one_or_none()


async def user_by_key_hash(session: AsyncSession, key_hash: str) -> tuple[User, ApiKey] | None:
    """The key with this hash, valid or not, and whose it is."""
    query = select(User, ApiKey).join(ApiKey, ApiKey.user_id == User.id).where(ApiKey.key_hash == key_hash)
    row = (await session.execute(query)).one_or_none()
    return (row[0], row[1]) if row else None


async def list_users(session: AsyncSession, *, limit: int, before: UUID | None) -> Sequence[User]:
    """Newest first."""
    query = select(User).order_by(User.id.desc()).limit(limit)
    if before is not None:
        query = query.where(User.id < before)
    return (await session.execute(query)).scalars().all()


async def list_keys(session: AsyncSession, user_id: UUID, *, limit: int, before: UUID | None) -> Sequence[ApiKey]:
    """A user's keys, newest first."""
    query = select(ApiKey).where(ApiKey.user_id == user_id).order_by(ApiKey.id.desc()).limit(limit)
    if before is not None:
        query = query.where(ApiKey.id < before)
    return (await session.execute(query)).scalars().all()
