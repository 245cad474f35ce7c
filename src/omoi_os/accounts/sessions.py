"""Sign-in links and browser sessions. Each function runs in the caller's transaction."""

import secrets
from datetime import datetime, timedelta
from enum import StrEnum
from urllib.parse import urlencode

from sqlalchemy import delete, select, update
from sqlalchemy.dialects.postgresql import insert
from sqlalchemy.ext.asyncio import AsyncSession

from omoi_os.accounts import repository
from omoi_os.accounts.models import ApiKey, BrowserSession, SignInCode, User
from omoi_os.accounts.service import ADMIN_EMAIL
from omoi_os.errors import BadToken, Forbidden, SetupError
from omoi_os.ids import new_token, token_hash, uuid7

SESSION_PREFIX = "ses_"
LINK_LIFE = timedelta(hours=24)
SESSION_LIFE = timedelta(days=30)
#: How long used codes and ended sessions are kept, to explain why they are refused.
MEMORY = timedelta(days=7)
#: Precision of `last_seen`.
SEEN_EVERY = timedelta(hours=1)


DEACTIVATED = "this account is deactivated; ask an administrator"


class Refusal(StrEnum):
    """Why a sign-in link is refused."""

    UNKNOWN = "This sign-in link is not valid on this server."
    USED = "This sign-in link was already used; each link works once."
    EXPIRED = "This sign-in link has expired."
    DEACTIVATED = "The account of this sign-in link is deactivated."


class LinkRefused(Forbidden):
    """A sign-in link was refused; the message is a `Refusal`."""


async def make_admin_link(session: AsyncSession, *, base_url: str, now: datetime) -> str:
    """Create a link for the first administrator; raise `SetupError` if there is none yet."""
    admin = await repository.by_email(session, ADMIN_EMAIL)
    if admin is None:
        raise SetupError("this database has no administrator yet; start the platform once with `omoi serve`")
    return await make_link(session, admin, base_url=base_url, now=now)


async def make_link(session: AsyncSession, user: User, *, base_url: str, now: datetime) -> str:
    """Create a link that signs one browser in as this user."""
    code = await make_code(session, user, now=now)
    return f"{base_url.rstrip('/')}/sign-in?{urlencode({'code': code})}"


async def make_code(session: AsyncSession, user: User, *, now: datetime) -> str:
    """Create a single-use code that signs a browser in as this user, and delete old codes."""
    await session.execute(delete(SignInCode).where(SignInCode.expires_at < now - MEMORY))
    code = secrets.token_urlsafe(24)
    values = {"code_hash": token_hash(code), "user_id": user.id, "created_at": now, "expires_at": now + LINK_LIFE}
    await session.execute(insert(SignInCode).values(values))
    return code


async def use_code(session: AsyncSession, code: str, *, now: datetime) -> User:
    """Use a code and return its user. Only the first use succeeds; raise `LinkRefused` for the others."""
    hashed = token_hash(code)
    taken = (
        update(SignInCode)
        .where(SignInCode.code_hash == hashed, SignInCode.used_at.is_(None), SignInCode.expires_at > now)
        .values(used_at=now)
        .returning(SignInCode.user_id)
    )
    user_id = (await session.execute(taken)).scalar_one_or_none()
    if user_id is not None:
        user = await session.get_one(User, user_id)
        if user.deactivated_at is not None:
            raise LinkRefused(Refusal.DEACTIVATED)
        return user
    known = (await session.execute(select(SignInCode.used_at).where(SignInCode.code_hash == hashed))).one_or_none()
    if known is None:
        raise LinkRefused(Refusal.UNKNOWN)
    raise LinkRefused(Refusal.EXPIRED if known.used_at is None else Refusal.USED)


async def open_session(session: AsyncSession, user: User, *, now: datetime, key: ApiKey | None = None) -> str:
    """Open a session and return its token. A session opened with a key has its scope and expires with it."""
    await session.execute(delete(BrowserSession).where(BrowserSession.expires_at < now - MEMORY))
    token = new_token(SESSION_PREFIX.removesuffix("_"))
    usual = now + SESSION_LIFE
    until = key.expires_at if key is not None else None
    session.add(
        BrowserSession(
            id=uuid7(),
            user_id=user.id,
            token_hash=token_hash(token),
            created_at=now,
            last_seen=now,
            expires_at=min(usual, until or usual),
            api_key_id=key.id if key is not None else None,
            scope=key.scope if key is not None else None,
        )
    )
    await session.flush()
    return token


async def identify(session: AsyncSession, token: str, *, now: datetime) -> tuple[User, BrowserSession]:
    """Return the user of a session; raise `BadToken` if it is unknown, ended or expired."""
    query = select(User, BrowserSession).join(BrowserSession, BrowserSession.user_id == User.id)
    row = (await session.execute(query.where(BrowserSession.token_hash == token_hash(token)))).one_or_none()
    if row is None or row[1].revoked_at is not None or row[1].expires_at <= now:
        raise BadToken("this browser is not signed in; open a new link from `omoi sign-in`")
    if row[0].deactivated_at is not None:
        raise BadToken(DEACTIVATED)
    found: BrowserSession = row[1]
    if found.last_seen <= now - SEEN_EVERY:
        await _note_seen(session, found, now=now)
    return row[0], found


async def _note_seen(session: AsyncSession, seen: BrowserSession, *, now: datetime) -> None:
    # One of a browser's concurrent requests writes it, and the others do not wait.
    free = select(BrowserSession.id).where(BrowserSession.id == seen.id).with_for_update(skip_locked=True)
    await session.execute(
        update(BrowserSession)
        .where(BrowserSession.id.in_(free))
        .values(last_seen=now)
        .execution_options(synchronize_session=False)
    )
