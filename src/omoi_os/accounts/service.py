"""Users and their keys. Each function runs in the caller's transaction."""

import logging
from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime
from uuid import UUID

from sqlalchemy import case
from sqlalchemy.dialects.postgresql import insert
from sqlalchemy.ext.asyncio import AsyncSession

from omoi_os.accounts import repository
from omoi_os.accounts.models import ApiKey, Scope, User
from omoi_os.bus.base import Bus, Topic
from omoi_os.errors import Conflict, Forbidden, Invalid, NotFound
from omoi_os.ids import new_token, token_hash, uuid7
from omoi_os.visibility import Role

log = logging.getLogger(__name__)

ADMIN_EMAIL = "admin@localhost"
#: The source of a token from `OMOI_ADMIN_TOKEN`.
SETTING = "setting"


@dataclass(frozen=True, slots=True)
class UserChanges:
    """The fields of a user to change; None keeps the value."""

    name: str | None = None
    role: Role | None = None
    active: bool | None = None


async def create_user(session: AsyncSession, *, email: str, name: str, role: Role, now: datetime) -> User:
    """Add a user; raise `Conflict` if the address is taken."""
    user_id = await _insert_user(session, email=email, name=name, role=role, now=now)
    if user_id is None:
        raise Conflict(f"there is already a user with the address {email}")
    return await session.get_one(User, user_id)


async def get_user(session: AsyncSession, user_id: UUID) -> User:
    """Return a user; raise `NotFound` if it does not exist."""
    user = await repository.get(session, user_id)
    if user is None:
        raise NotFound(f"there is no user {user_id}")
    return user


def usual_scope(user: User) -> Scope:
    """Return the scope of a new key of this user if none is asked for."""
    return Scope.ADMIN if user.role == Role.ADMIN else Scope.WRITE


async def create_key(
    session: AsyncSession, user: User, *, name: str, scope: str | None, expires_at: datetime | None, now: datetime
) -> tuple[ApiKey, str]:
    """Create a key for a user and return it with its token, of which only a hash is stored.

    Raise `Forbidden` for the scope admin unless the user is an administrator.
    """
    if scope == Scope.ADMIN and user.role != Role.ADMIN:
        raise Forbidden(f"scope: {user.email} is no administrator; create a key with the scope write or read")
    if expires_at is not None and expires_at <= now:
        raise Invalid("expires_at: must be in the future")
    token = new_token("omoi")
    key = ApiKey(
        id=uuid7(),
        user_id=user.id,
        name=name,
        key_hash=token_hash(token),
        last_four=token[-4:],
        scope=scope,
        expires_at=expires_at,
        created_at=now,
    )
    session.add(key)
    await session.flush()
    return key, token


async def revoke_key(session: AsyncSession, bus: Bus, user_id: UUID, key_id: UUID, *, now: datetime) -> ApiKey:
    """Revoke a user's key and the sessions it opened, and close its streams. Can be repeated."""
    key = await repository.get_key(session, user_id, key_id)
    if key is None:
        raise NotFound(f"there is no API key {key_id}")
    await repository.revoke_key(session, key.id, now=now)
    await session.refresh(key)
    await bus.announce(session, Topic.ACCESS, str(user_id))
    return key


async def end_session(session: AsyncSession, bus: Bus, user_id: UUID, session_id: UUID, *, now: datetime) -> None:
    """End a session of a user and close its streams."""
    if not await repository.end_session(session, user_id, session_id, now=now):
        raise NotFound(f"there is no open session {session_id}")
    await bus.announce(session, Topic.ACCESS, str(user_id))


async def change_user(session: AsyncSession, bus: Bus, user: User, changes: UserChanges, *, now: datetime) -> User:
    """Change a user; raise `Conflict` if no active administrator would be left."""
    admins = await repository.lock_admins(session)
    await session.refresh(user)
    is_active = user.deactivated_at is None if changes.active is None else changes.active
    role = changes.role or Role(user.role)
    if user.id in admins and len(admins) == 1 and not (is_active and role == Role.ADMIN):
        raise Conflict(f"{user.email} is the last active administrator; make another user an administrator first")
    user.name, user.role = changes.name or user.name, role
    user.deactivated_at = None if is_active else user.deactivated_at or now
    await session.flush()
    await bus.announce(session, Topic.ACCESS, str(user.id))
    return user


async def ensure_admin(
    session: AsyncSession, token: str, *, now: datetime, source: str = SETTING, replaces: Sequence[str] = (SETTING,)
) -> User:
    """Ensure that the first administrator exists and that this token is one of their keys. Can be repeated.

    Revoke other tokens of the installation from the sources in `replaces`. A token that is used again becomes valid
    again, unless a person revoked it.
    """
    await _insert_user(session, email=ADMIN_EMAIL, name="Administrator", role=Role.ADMIN, now=now)
    admin = await repository.by_email(session, ADMIN_EMAIL)
    assert admin is not None  # noqa: S101  the insert above created the row or found it
    hashed = token_hash(token)
    key = {
        "id": uuid7(),
        "user_id": admin.id,
        "name": "first key",
        "key_hash": hashed,
        "last_four": token[-4:],
        "created_at": now,
        "source": source,
    }
    restored = {
        "source": source,
        "revoked_at": case((ApiKey.replaced_at.is_not(None), None), else_=ApiKey.revoked_at),
        "replaced_at": None,
    }
    statement = insert(ApiKey).values(key)
    await session.execute(statement.on_conflict_do_update(index_elements=[ApiKey.key_hash], set_=restored))
    for retired in await repository.retire_tokens(session, sources=replaces, but=hashed, now=now):
        log.info("the administrator's token that ended in %s was replaced and no longer works", retired.last_four)
    return admin


async def _insert_user(session: AsyncSession, *, email: str, name: str, role: Role, now: datetime) -> UUID | None:
    """Return the new user's id; None if the address is taken."""
    values = {"id": uuid7(), "email": email, "name": name, "role": role, "created_at": now}
    statement = insert(User).values(values).on_conflict_do_nothing(index_elements=[User.email]).returning(User.id)
    return (await session.execute(statement)).scalar_one_or_none()
