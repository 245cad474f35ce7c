"""Identifies the caller: a user by an API key or a session cookie, or a sandbox by its token."""

from dataclasses import dataclass
from datetime import datetime
from typing import Annotated, Literal
from uuid import UUID

from fastapi import Depends, Request
from fastapi.security import HTTPAuthorizationCredentials, HTTPBearer
from sqlalchemy.ext.asyncio import AsyncSession
from starlette.requests import HTTPConnection

from omoi_os.accounts import repository as accounts
from omoi_os.accounts import sessions
from omoi_os.accounts.models import ApiKey, BrowserSession, Scope, User
from omoi_os.accounts.sessions import SESSION_PREFIX
from omoi_os.config import Settings
from omoi_os.errors import BadToken, Forbidden
from omoi_os.http.origins import check_own_page
from omoi_os.ids import token_hash

SANDBOX_PREFIX = "sbx_"
_READING = frozenset({"GET", "HEAD"})

_bearer = HTTPBearer(
    auto_error=False,
    scheme_name="token",
    description="A user's API key `omoi_…`, or inside a sandbox the sandbox's token `sbx_…`.",
)


@dataclass(frozen=True, slots=True)
class Identity:
    """A user, and the credential that identified them."""

    user: User
    via: Literal["key", "session"]
    #: Id of the key or session.
    id: UUID
    scope: Scope
    expires_at: datetime | None
    #: None for a session.
    key: ApiKey | None = None


def session_cookie(settings: Settings) -> str:
    """Return the cookie's name. It contains the port, because browsers share cookies between the ports of a host."""
    return f"omoi_session_{settings.port}"


def sent_token(connection: HTTPConnection, *, method: str = "GET") -> str:
    """Return the token from the header or the session cookie; raise `BadToken` if there is none.

    Raise `Forbidden` for a cookie in a request that this server's own page did not make.
    """
    header = connection.headers.get("authorization")
    if header is not None:
        scheme, _, token = header.partition(" ")
        if scheme.lower() == "bearer" and token.strip() and not token.strip().startswith(SESSION_PREFIX):
            return token.strip()
        raise BadToken("send a token in the header: Authorization: Bearer …")
    cookie = connection.cookies.get(session_cookie(connection.app.state.settings), "")
    if not cookie.startswith(SESSION_PREFIX):
        raise BadToken(
            "send a token in the header: Authorization: Bearer …, or sign in with a link from `omoi sign-in`"
        )
    check_own_page(method, connection.headers)
    return cookie


async def bearer_token(
    request: Request, _described: Annotated[HTTPAuthorizationCredentials | None, Depends(_bearer)]
) -> str:
    """Return the token of the request; raise `BadToken` if there is none."""
    return sent_token(request, method=request.method)


BearerToken = Annotated[str, Depends(bearer_token)]


async def identify_user(session: AsyncSession, token: str, *, now: datetime) -> Identity:
    """Return the user of a key or session; raise `BadToken` if it is unknown, expired or revoked."""
    if token.startswith(SESSION_PREFIX):
        user, opened = await sessions.identify(session, token, now=now)
        return _identity(user, "session", opened)
    found = await accounts.user_by_key_hash(session, token_hash(token))
    if found is None:
        raise BadToken("this token is unknown")
    user, key = found
    if key.revoked_at is not None:
        raise BadToken("this API key was revoked; ask an administrator for a new one")
    if key.expires_at is not None and key.expires_at <= now:
        raise BadToken("this API key has expired; ask an administrator for a new one")
    if user.deactivated_at is not None:
        raise BadToken(sessions.DEACTIVATED)
    return _identity(user, "key", key)


def _identity(user: User, via: Literal["key", "session"], credential: ApiKey | BrowserSession) -> Identity:
    # Keys of early versions have no scope, or `full`.
    scope = Scope(credential.scope) if credential.scope in set(Scope) else Scope.ADMIN
    user.may_administer = scope != Scope.WRITE
    key = credential if isinstance(credential, ApiKey) else None
    return Identity(user, via, credential.id, scope, credential.expires_at, key)


def check_scope(identity: Identity, method: str) -> None:
    """Raise `Forbidden` if a key or session may only read and the method changes something."""
    if identity.scope == Scope.READ and method not in _READING:
        raise Forbidden("this API key may only read")
