"""Sign-in links and the browser sessions that they open. Each function is one step; the caller commits."""

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
#: Used codes and ended sessions are kept for so long, to say what became of them.
MEMORY = timedelta(days=7)
#: How exactly it is known when a browser was last here.
SEEN_EVERY = timedelta(hours=1)


DEACTIVATED = "this account is deactivated; ask an administrator"


class Refusal(StrEnum):
    """Why a link opens nothing."""

    UNKNOWN = "This sign-in link is not one of this server's."
    USED = "This sign-in link was used already; each works once."
    EXPIRED = "This sign-in link has expired."
    DEACTIVATED = "The account of this sign-in link is deactivated."


class LinkRefused(Forbidden):
    """A sign-in link that opens nothing; the message says why."""


async def make_link(session: AsyncSession, *, base_url: str, now: datetime) -> str:
    """A new link for the first administrator; `SetupError` when there is none yet."""
    admin = await repository.by_email(session, ADMIN_EMAIL)
    if admin is None:
        raise SetupError("this database has no administrator yet; start the platform once with `omoi serve`")
    code = await make_code(session, admin, now=now)
    return f"{base_url.rstrip('/')}/sign-in?{urlencode({'code': code})}"


async def make_code(session: AsyncSession, user: User, *, now: datetime) -> str:
    """A code that signs a browser in as this user, once; those long gone are forgotten."""
    await session.execute(delete(SignInCode).where(SignInCode.expires_at < now - MEMORY))
    code = secrets.token_urlsafe(24)
    values = {"code_hash": token_hash(code), "user_id": user.id, "created_at": now, "expires_at": now + LINK_LIFE}
    await session.execute(insert(SignInCode).values(values))
    return code


async def use_code(session: AsyncSession, code: str, *, now: datetime) -> User:
    """Whom a code signs in; however many ask at once, one is told. `LinkRefused` for the others."""
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
    """Open a session for a user; its token is returned this once. With a key it has its scope and ends with it."""
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
    """Whose session this is; `BadToken` for one that is unknown, signed out or expired."""
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
    # Of a browser's many requests one writes, and none waits for it.
    free = select(BrowserSession.id).where(BrowserSession.id == seen.id).with_for_update(skip_locked=True)
    await session.execute(
        update(BrowserSession)
        .where(BrowserSession.id.in_(free))
        .values(last_seen=now)
        .execution_options(synchronize_session=False)
    )
