"""Which sandbox a request is about, and whether the caller may: these dependencies are the security checks."""

from datetime import datetime
from typing import Annotated

from fastapi import Depends, Request
from sqlalchemy import select
from sqlalchemy.ext.asyncio import AsyncSession

from omoi_os.accounts.auth import SANDBOX_PREFIX, BearerToken, identify_user
from omoi_os.accounts.deps import CurrentUser
from omoi_os.accounts.models import User
from omoi_os.audit.deps import AppTrail
from omoi_os.audit.trail import Trail, foreign
from omoi_os.errors import Forbidden
from omoi_os.http.deps import DbSession, Now
from omoi_os.ids import token_hash
from omoi_os.projects.models import Project
from omoi_os.projects.repository import visible
from omoi_os.sandboxes import repository, service
from omoi_os.sandboxes.models import Sandbox


async def _get_visible(session: AsyncSession, sandbox_id: str, *, user: User) -> Sandbox:
    query = select(Sandbox).join(Project, Project.id == Sandbox.project_id)
    query = query.where(Sandbox.id == sandbox_id, visible(user))
    found = (await session.execute(query)).scalar_one_or_none() if repository.ID.fullmatch(sandbox_id) else None
    if found is None:
        raise repository.missing(sandbox_id)
    return found


async def visible_sandbox(sandbox_id: str, user: CurrentUser, session: DbSession) -> Sandbox:
    """The sandbox; 404 when there is none or it is another user's."""
    return await _get_visible(session, sandbox_id, user=user)


async def calling_sandbox(
    sandbox_id: str, token: BearerToken, session: DbSession, now: Now, request: Request, trail: AppTrail
) -> Sandbox:
    """The sandbox that calls, known by its own token; 404 for another's path, 403 for a user's key."""
    return await _identify(sandbox_id, token, session, now, request, trail, saving=False)


async def saving_sandbox(
    sandbox_id: str, token: BearerToken, session: DbSession, now: Now, request: Request, trail: AppTrail
) -> Sandbox:
    """The same, and an ended one whose work is being salvaged."""
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
        raise Forbidden("only the worker inside the sandbox can do this, with its own token")
    sandbox = await service.identify(session, token, saving=saving)
    if sandbox.id != sandbox_id:
        await trail.record(foreign(sandbox.id, sandbox_id, f"{request.method} {request.url.path}"))
        raise repository.missing(sandbox_id)
    return sandbox


async def readable_sandbox(
    sandbox_id: str, token: BearerToken, session: DbSession, now: Now, request: Request, trail: AppTrail
) -> Sandbox:
    """The sandbox, for itself or for a user who may see it."""
    if token.startswith(SANDBOX_PREFIX):
        return await calling_sandbox(sandbox_id, token, session, now, request, trail)
    identity = await identify_user(session, token, now=now)
    return await _get_visible(session, sandbox_id, user=identity.user)


VisibleSandbox = Annotated[Sandbox, Depends(visible_sandbox)]
CallingSandbox = Annotated[Sandbox, Depends(calling_sandbox)]
SavingSandbox = Annotated[Sandbox, Depends(saving_sandbox)]
ReadableSandbox = Annotated[Sandbox, Depends(readable_sandbox)]


async def sandbox_of_token(session: AsyncSession, token: str) -> str | None:
    """Return the id of the sandbox that a token belongs to; None for an unknown token."""
    found = await repository.by_token_hash(session, token_hash(token))
    return found.id if found is not None else None
