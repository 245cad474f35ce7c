"""Queries on users and their keys."""

from collections.abc import Sequence
from datetime import datetime
from uuid import UUID

from sqlalchemy import delete, select, tuple_
from sqlalchemy.ext.asyncio import AsyncSession

from omoi_os.accounts.models import ApiKey, IdempotentRequest, User


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


async def delete_answers(session: AsyncSession, *, before: datetime, limit: int) -> int:
    """Forget answers under an idempotency key that are older, so many at a time; returns how many."""
    key = tuple_(IdempotentRequest.user_id, IdempotentRequest.key)
    old = (
        select(IdempotentRequest.user_id, IdempotentRequest.key)
        .where(IdempotentRequest.created_at < before)
        .order_by(IdempotentRequest.created_at)
        .limit(limit)
        .with_for_update(skip_locked=True)
    )
    gone = await session.execute(delete(IdempotentRequest).where(key.in_(old)).returning(IdempotentRequest.key))
    return len(gone.all())
