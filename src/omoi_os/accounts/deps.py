"""The calling user as a dependency of routes: these dependencies are the security checks."""

from datetime import datetime
from typing import Annotated, Protocol
from uuid import UUID

from fastapi import Depends, Path, Request
from sqlalchemy.ext.asyncio import AsyncSession
from starlette.requests import HTTPConnection

from omoi_os.accounts.auth import SANDBOX_PREFIX, BearerToken, Identity, check_scope, identify_user
from omoi_os.accounts.key_uses import KeyUses
from omoi_os.accounts.models import User
from omoi_os.audit.deps import AppTrail
from omoi_os.audit.trail import foreign, refused
from omoi_os.errors import Forbidden, UnknownSandboxToken
from omoi_os.http.deps import DbSession, Now
from omoi_os.visibility import Role

UserId = Annotated[UUID, Path(description="Id of a user, as `GET /users` lists it.")]
KeyId = Annotated[UUID, Path(description="Id of an API key, as the list of the user's keys shows it.")]


class SandboxTokens(Protocol):
    """Finds the sandbox that a token belongs to; the application provides it as `state.sandbox_of_token`."""

    async def __call__(self, session: AsyncSession, token: str) -> str | None:
        """Return the sandbox's id, or None for an unknown token."""


async def known_user(session: AsyncSession, token: str, *, sandbox_of: SandboxTokens, now: datetime) -> Identity:
    """Return the user that a token belongs to; raise `Forbidden` for a sandbox's token."""
    if not token.startswith(SANDBOX_PREFIX):
        return await identify_user(session, token, now=now)
    if await sandbox_of(session, token) is None:
        raise UnknownSandboxToken()
    raise Forbidden("a sandbox's token is not allowed to do this; use a user's API key")


def note_use(connection: HTTPConnection, identity: Identity, *, now: datetime) -> None:
    """Note that the key of a request was used; it is stored later, and never for sessions."""
    if identity.key is not None:
        uses: KeyUses = connection.app.state.key_uses
        uses.note(identity.key.id, now=now)


async def current_identity(
    request: Request, token: BearerToken, session: DbSession, trail: AppTrail, now: Now
) -> Identity:
    """Return the calling user and how they were identified.

    Raise `Forbidden` for a sandbox's token, which also leaves an audit entry, and for a key that may only read.
    """
    sandbox_of: SandboxTokens = request.app.state.sandbox_of_token
    if token.startswith(SANDBOX_PREFIX) and (caller := await sandbox_of(session, token)) is not None:
        call, wanted = f"{request.method} {request.url.path}", request.path_params.get("sandbox_id")
        if wanted is not None and caller != wanted:
            await trail.record(foreign(caller, wanted, call))
        else:
            await trail.record(refused(caller, call, "a sandbox's token is not allowed to do this"))
    identity = await known_user(session, token, sandbox_of=sandbox_of, now=now)
    check_scope(identity, request.method)
    note_use(request, identity, now=now)
    return identity


CurrentIdentity = Annotated[Identity, Depends(current_identity)]


async def current_user(identity: CurrentIdentity) -> User:
    """Return the calling user."""
    return identity.user


CurrentUser = Annotated[User, Depends(current_user)]


async def admin_user(user: CurrentUser) -> User:
    """Return the calling administrator; raise `Forbidden` for anybody else."""
    if user.role != Role.ADMIN:
        raise Forbidden("only an administrator can do this")
    if not user.is_admin:
        raise Forbidden("this API key has no administrator rights; use one with the scope admin")
    return user


AdminUser = Annotated[User, Depends(admin_user)]
