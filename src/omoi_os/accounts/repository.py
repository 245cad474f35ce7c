"""Queries on users, keys and sessions."""

from collections.abc import Mapping, Sequence
from datetime import datetime, timedelta
from uuid import UUID

from sqlalchemy import DateTime, Uuid, bindparam, delete, func, select, tuple_, update
from sqlalchemy.dialects.postgresql import ARRAY
from sqlalchemy.ext.asyncio import AsyncSession

from omoi_os.accounts.models import ApiKey, BrowserSession, IdempotentRequest, User
from omoi_os.visibility import Role


async def get(session: AsyncSession, user_id: UUID) -> User | None:
    """Return a user."""
    return await session.get(User, user_id)


async def by_email(session: AsyncSession, email: str) -> User | None:
    """Return the user with this address."""
    return (await session.execute(select(User).where(User.email == email))).scalar_one_or_none()


async def user_by_key_hash(session: AsyncSession, key_hash: str) -> tuple[User, ApiKey] | None:
    """Return the key with this hash, valid or not, and its user."""
    query = select(User, ApiKey).join(ApiKey, ApiKey.user_id == User.id).where(ApiKey.key_hash == key_hash)
    row = (await session.execute(query)).one_or_none()
    return (row[0], row[1]) if row else None


async def list_users(session: AsyncSession, *, limit: int, before: UUID | None) -> Sequence[User]:
    """Return users, newest first."""
    query = select(User).order_by(User.id.desc()).limit(limit)
    if before is not None:
        query = query.where(User.id < before)
    return (await session.execute(query)).scalars().all()


async def list_keys(session: AsyncSession, user_id: UUID, *, limit: int, before: UUID | None) -> Sequence[ApiKey]:
    """Return the keys of a user, newest first."""
    query = select(ApiKey).where(ApiKey.user_id == user_id).order_by(ApiKey.id.desc()).limit(limit)
    if before is not None:
        query = query.where(ApiKey.id < before)
    return (await session.execute(query)).scalars().all()


async def get_key(session: AsyncSession, user_id: UUID, key_id: UUID) -> ApiKey | None:
    """Return a key of a user."""
    query = select(ApiKey).where(ApiKey.id == key_id, ApiKey.user_id == user_id)
    return (await session.execute(query)).scalar_one_or_none()


async def revoke_key(session: AsyncSession, key_id: UUID, *, now: datetime) -> None:
    """Revoke a key and the sessions it opened. What was revoked before keeps its time."""
    await session.execute(update(ApiKey).where(ApiKey.id == key_id, ApiKey.revoked_at.is_(None)).values(revoked_at=now))
    await session.execute(
        update(BrowserSession)
        .where(BrowserSession.api_key_id == key_id, BrowserSession.revoked_at.is_(None))
        .values(revoked_at=now)
    )


async def note_key_uses(session: AsyncSession, uses: Mapping[UUID, datetime], *, precision: timedelta) -> None:
    """Store when keys were last used, unless a use within `precision` before is stored. Skip keys that are locked."""
    ids, moments = list(uses), list(uses.values())
    used = func.unnest(
        bindparam("ids", ids, ARRAY(Uuid)), bindparam("moments", moments, ARRAY(DateTime(timezone=True)))
    )
    new = used.table_valued("id", "at").render_derived()
    due = ApiKey.last_used_at.is_(None) | (ApiKey.last_used_at <= new.c.at - precision)
    free = select(ApiKey.id, new.c.at).join(new, new.c.id == ApiKey.id).where(due)
    locked = free.with_for_update(of=ApiKey, key_share=True, skip_locked=True).cte("due")
    await session.execute(
        update(ApiKey)
        .where(ApiKey.id == locked.c.id)
        .values(last_used_at=locked.c.at)
        .execution_options(synchronize_session=False)
    )


async def list_sessions(
    session: AsyncSession, user_id: UUID, *, now: datetime, limit: int, before: UUID | None
) -> Sequence[BrowserSession]:
    """Return the open sessions of a user, newest first."""
    query = select(BrowserSession).where(
        BrowserSession.user_id == user_id, BrowserSession.revoked_at.is_(None), BrowserSession.expires_at > now
    )
    if before is not None:
        query = query.where(BrowserSession.id < before)
    return (await session.execute(query.order_by(BrowserSession.id.desc()).limit(limit))).scalars().all()


async def end_session(session: AsyncSession, user_id: UUID, session_id: UUID, *, now: datetime) -> bool:
    """End a session of a user; return False if no open session has this id."""
    ended = (
        update(BrowserSession)
        .where(BrowserSession.id == session_id, BrowserSession.user_id == user_id, BrowserSession.revoked_at.is_(None))
        .values(revoked_at=now)
        .returning(BrowserSession.id)
    )
    return (await session.execute(ended)).scalar_one_or_none() is not None


async def lock_admins(session: AsyncSession) -> Sequence[UUID]:
    """Lock and return the active administrators, so that two of them cannot be removed at the same time."""
    query = select(User.id).where(User.role == Role.ADMIN, User.deactivated_at.is_(None)).order_by(User.id)
    return (await session.execute(query.with_for_update())).scalars().all()


async def retire_tokens(session: AsyncSession, *, sources: Sequence[str], but: str, now: datetime) -> Sequence[ApiKey]:
    """Revoke the installation's tokens from these sources, except for the one with this hash."""
    query = select(ApiKey).where(ApiKey.source.in_(sources), ApiKey.key_hash != but, ApiKey.revoked_at.is_(None))
    keys = (await session.execute(query.with_for_update())).scalars().all()
    for key in keys:
        key.replaced_at = now
        await revoke_key(session, key.id, now=now)
    return keys


async def delete_answers(session: AsyncSession, *, before: datetime, limit: int) -> int:
    """Delete stored responses that are older, up to `limit`; return how many."""
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
