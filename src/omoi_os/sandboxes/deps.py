"""The sandbox that a path names, if the caller may use it: these dependencies are the security checks."""

from datetime import datetime
from typing import Annotated

from fastapi import Depends, Path, Request
from sqlalchemy.ext.asyncio import AsyncSession

from omoi_os.accounts.auth import SANDBOX_PREFIX, BearerToken, identify_user
from omoi_os.accounts.deps import CurrentUser, note_use
from omoi_os.accounts.models import User
from omoi_os.audit.deps import AppTrail
from omoi_os.audit.trail import Trail, foreign
from omoi_os.errors import Forbidden
from omoi_os.http.deps import DbSession, Now
from omoi_os.ids import token_hash
from omoi_os.projects import permissions
from omoi_os.projects.permissions import Permission
from omoi_os.sandboxes import repository, service
from omoi_os.sandboxes.models import Sandbox

SandboxId = Annotated[str, Path(description="Id of a sandbox, as `GET /sandboxes` lists it.")]


async def _get_visible(session: AsyncSession, sandbox_id: str, *, user: User) -> Sandbox:
    found = await repository.get_visible(session, sandbox_id, user=user)
    if found is None:
        raise repository.missing(sandbox_id)
    return found


async def visible_sandbox(sandbox_id: SandboxId, user: CurrentUser, session: DbSession) -> Sandbox:
    """Return the sandbox; raise `NotFound` if it does not exist or the caller may not see it."""
    return await _get_visible(session, sandbox_id, user=user)


async def calling_sandbox(
    sandbox_id: SandboxId, token: BearerToken, session: DbSession, now: Now, request: Request, trail: AppTrail
) -> Sandbox:
    """Return the calling sandbox, identified by its token.

    Raise `NotFound` if the path names another sandbox and `Forbidden` for a user's key.
    """
    return await _identify(sandbox_id, token, session, now, request, trail, saving=False)


async def saving_sandbox(
    sandbox_id: SandboxId, token: BearerToken, session: DbSession, now: Now, request: Request, trail: AppTrail
) -> Sandbox:
    """Return the calling sandbox, also if it has ended and is being salvaged."""
    return await _identify(sandbox_id, token, session, now, request, trail, saving=True)


async def _identify(
    sandbox_id: str,
    token: str,
    session: AsyncSession,
    now: datetime,
    request: Request,
    trail: Trail,
    *,
    saving: bool,
) -> Sandbox:
    if not token.startswith(SANDBOX_PREFIX):
        await identify_user(session, token, now=now)
        raise Forbidden("only the worker inside the sandbox can do this, with the sandbox's token")
    sandbox = await service.identify(session, token, saving=saving)
    if sandbox.id != sandbox_id:
        await trail.record(foreign(sandbox.id, sandbox_id, f"{request.method} {request.url.path}"))
        raise repository.missing(sandbox_id)
    return sandbox


async def readable_sandbox(
    sandbox_id: SandboxId, token: BearerToken, session: DbSession, now: Now, request: Request, trail: AppTrail
) -> Sandbox:
    """Return the sandbox, for its own worker or for a user who may see it."""
    if token.startswith(SANDBOX_PREFIX):
        return await calling_sandbox(sandbox_id, token, session, now, request, trail)
    identity = await identify_user(session, token, now=now)
    note_use(request, identity, now=now)
    return await _get_visible(session, sandbox_id, user=identity.user)


VisibleSandbox = Annotated[Sandbox, Depends(visible_sandbox)]


async def runnable_sandbox(sandbox: VisibleSandbox, user: CurrentUser, session: DbSession) -> Sandbox:
    """Return the sandbox; raise `Forbidden` if the caller may see it but not control it."""
    await permissions.require(session, user, sandbox.project_id, Permission.RUN)
    return sandbox


RunnableSandbox = Annotated[Sandbox, Depends(runnable_sandbox)]
CallingSandbox = Annotated[Sandbox, Depends(calling_sandbox)]
SavingSandbox = Annotated[Sandbox, Depends(saving_sandbox)]
ReadableSandbox = Annotated[Sandbox, Depends(readable_sandbox)]


async def sandbox_of_token(session: AsyncSession, token: str) -> str | None:
    """Return the id of the sandbox that a token belongs to; None for an unknown token."""
    found = await repository.by_token_hash(session, token_hash(token))
    return found.id if found is not None else None
