"""Queries on credentials."""

from collections.abc import Collection, Mapping, Sequence
from datetime import datetime, timedelta
from uuid import UUID

from sqlalchemy import ColumnElement, and_, delete, func, or_, select, text, true, update
from sqlalchemy.ext.asyncio import AsyncSession

from omoi_os.accounts.models import User
from omoi_os.credentials.kinds import MODEL
from omoi_os.credentials.models import Credential

#: The advisory lock under which credentials are encrypted, so that no rotation of keys misses one.
KEY_LOCK = 0x6F6D6F6963726564

#: Precision of `last_used_at`, which is not written on every call.
USED_EVERY = timedelta(minutes=1)


async def lock_keys(session: AsyncSession) -> None:
    """Wait until no other transaction encrypts credentials, chooses a default or rotates keys."""
    await session.execute(text("SELECT pg_advisory_xact_lock(:key)"), {"key": KEY_LOCK})


def _visible(user: User) -> ColumnElement[bool]:
    own = Credential.user_id == user.id
    return or_(own, Credential.shared) if user.is_admin else own


async def list_visible(session: AsyncSession, user: User, *, limit: int, before: UUID | None) -> Sequence[Credential]:
    """Return a user's credentials, for an administrator also the shared ones; newest first."""
    query = select(Credential).where(_visible(user)).order_by(Credential.id.desc()).limit(limit)
    if before is not None:
        query = query.where(Credential.id < before)
    return (await session.execute(query)).scalars().all()


async def get_visible(session: AsyncSession, user: User, credential_id: UUID) -> Credential | None:
    """Return a credential that the user may see."""
    query = select(Credential).where(Credential.id == credential_id, _visible(user))
    return (await session.execute(query)).scalar_one_or_none()


async def count_of(session: AsyncSession, user_id: UUID) -> int:
    """Return how many credentials a user has."""
    query = select(func.count()).select_from(Credential).where(Credential.user_id == user_id)
    return (await session.execute(query)).scalar_one()


def _same_default(credential: Credential) -> ColumnElement[bool]:
    """Return the condition for the credentials among which one is the default."""
    owner = true() if credential.shared else Credential.user_id == credential.user_id
    return and_(owner, Credential.used_for == credential.used_for, Credential.shared == credential.shared)


async def default_beside(session: AsyncSession, credential: Credential) -> Credential | None:
    """Return the current default for what a new credential is used for."""
    query = select(Credential).where(_same_default(credential), Credential.is_default)
    return (await session.execute(query)).scalar_one_or_none()


async def newest_beside(session: AsyncSession, credential: Credential) -> Credential | None:
    """Return the newest other credential that is used for the same."""
    query = select(Credential).where(_same_default(credential), Credential.id != credential.id)
    return (await session.execute(query.order_by(Credential.id.desc()).limit(1))).scalar_one_or_none()


async def model_defaults(session: AsyncSession, user_ids: Collection[UUID]) -> Mapping[UUID, Credential]:
    """Return the credential that applies to each of these people's model calls: their own, else the shared one."""
    own = and_(Credential.user_id.in_(user_ids), ~Credential.shared, User.deactivated_at.is_(None))
    query = (
        select(Credential)
        .join(User, User.id == Credential.user_id)
        .where(Credential.used_for == MODEL, Credential.is_default, or_(own, Credential.shared))
    )
    found = (await session.execute(query)).scalars().all()
    shared = next((row for row in found if row.shared), None)
    applies = dict.fromkeys(user_ids, shared) | {row.user_id: row for row in found if not row.shared}
    return {user_id: row for user_id, row in applies.items() if row is not None}


async def own_default(session: AsyncSession, user_id: UUID, used_for: str) -> Credential | None:
    """Return a person's own default; None if they have none or are deactivated."""
    query = (
        select(Credential)
        .join(User, User.id == Credential.user_id)
        .where(
            Credential.user_id == user_id,
            Credential.used_for == used_for,
            Credential.is_default,
            ~Credential.shared,
            User.deactivated_at.is_(None),
        )
    )
    return (await session.execute(query)).scalar_one_or_none()


async def all_ids(session: AsyncSession) -> set[UUID]:
    """Return the ids of all credentials."""
    return set((await session.execute(select(Credential.id))).scalars())


async def by_ids(session: AsyncSession, ids: Collection[UUID]) -> Sequence[Credential]:
    """Return these credentials."""
    return (await session.execute(select(Credential).where(Credential.id.in_(ids)))).scalars().all()


async def not_encrypted_with(session: AsyncSession, key_id: str) -> Sequence[Credential]:
    """Return the credentials that another key encrypted."""
    return (await session.execute(select(Credential).where(Credential.key_id != key_id))).scalars().all()


async def remove(session: AsyncSession, credential_id: UUID) -> bool:
    """Delete a credential; return False if it is already gone."""
    gone = (
        delete(Credential)
        .where(Credential.id == credential_id)
        .returning(Credential.id)
        .execution_options(synchronize_session=False)
    )
    return (await session.execute(gone)).scalar_one_or_none() is not None


async def note_use(session: AsyncSession, credential_id: UUID, *, now: datetime) -> None:
    """Record that a credential is used, without waiting for another process that does the same."""
    due = or_(Credential.last_used_at.is_(None), Credential.last_used_at <= now - USED_EVERY)
    free = select(Credential.id).where(Credential.id == credential_id, due).with_for_update(skip_locked=True)
    await session.execute(
        update(Credential)
        .where(Credential.id.in_(free))
        .values(last_used_at=now)
        .execution_options(synchronize_session=False)
    )


async def note_check(session: AsyncSession, credential_id: UUID, *, check: str, now: datetime) -> None:
    """Store what a check found."""
    await session.execute(
        update(Credential)
        .where(Credential.id == credential_id)
        .values(check=check, checked_at=now)
        .execution_options(synchronize_session=False)
    )
