"""Users and their keys. Each function is one step in one transaction; the caller commits."""

from datetime import datetime
from uuid import UUID

from sqlalchemy.dialects.postgresql import insert
from sqlalchemy.ext.asyncio import AsyncSession

from omoi_os.accounts import repository
from omoi_os.accounts.models import ApiKey, Role, User
from omoi_os.errors import Conflict, Invalid, NotFound
from omoi_os.ids import new_token, token_hash, uuid7

ADMIN_EMAIL = "admin@localhost"


async def create_user(session: AsyncSession, *, email: str, name: str, role: Role, now: datetime) -> User:
    """Add a user; `Conflict` when the address is taken."""
    user_id = await _insert_user(session, email=email, name=name, role=role, now=now)
    if user_id is None:
        raise Conflict(f"there is already a user with the address {email}")
    return await session.get_one(User, user_id)


async def get_user(session: AsyncSession, user_id: UUID) -> User:
    """One user that exists."""
    user = await repository.get(session, user_id)
    if user is None:
        raise NotFound(f"there is no user {user_id}")
    return user


async def create_key(
    session: AsyncSession, user: User, *, name: str, scope: str | None, expires_at: datetime | None, now: datetime
) -> tuple[ApiKey, str]:
    """Make a key for a user; it is returned this once and only its hash is kept."""
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


async def ensure_admin(session: AsyncSession, token: str, *, now: datetime) -> User:
    """See to it that the first administrator exists and that this token is one of their keys. Can be repeated."""
    await _insert_user(session, email=ADMIN_EMAIL, name="Administrator", role=Role.ADMIN, now=now)
    admin = await repository.by_email(session, ADMIN_EMAIL)
    assert admin is not None  # noqa: S101  the insert above either made the row or found it
    key = {
        "id": uuid7(),
        "user_id": admin.id,
        "name": "first key",
        "key_hash": token_hash(token),
        "last_four": token[-4:],
        "created_at": now,
    }
    await session.execute(insert(ApiKey).values(key).on_conflict_do_nothing(index_elements=[ApiKey.key_hash]))
    return admin


async def _insert_user(session: AsyncSession, *, email: str, name: str, role: Role, now: datetime) -> UUID | None:
    """The new user's id, or None when the address is taken."""
    values = {"id": uuid7(), "email": email, "name": name, "role": role, "created_at": now}
    statement = insert(User).values(values).on_conflict_do_nothing(index_elements=[User.email]).returning(User.id)
    return (await session.execute(statement)).scalar_one_or_none()
