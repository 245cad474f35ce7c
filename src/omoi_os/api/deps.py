"""What routes depend on: the session, the time, the bus, and the caller.

All are coroutines, however little they do: FastAPI calls a plain function in a thread, which takes longer than most.
"""

from collections.abc import AsyncIterator
from datetime import datetime
from typing import Annotated

from fastapi import Depends, Request
from sqlalchemy.ext.asyncio import AsyncSession

from omoi_os.accounts.models import Role, User
from omoi_os.api.auth import SANDBOX_PREFIX, BearerToken, Identity, check_scope, identify_user
from omoi_os.audit.trail import Trail, foreign, refused
from omoi_os.bus.base import Bus
from omoi_os.config import Settings
from omoi_os.db.base import Sessions
from omoi_os.db.clock import Clock
from omoi_os.errors import BadToken, Forbidden
from omoi_os.ids import token_hash
from omoi_os.sandboxes import repository as sandboxes
from omoi_os.sandboxes.masking import Masker


async def _session(request: Request) -> AsyncIterator[AsyncSession]:
    sessions: Sessions = request.app.state.sessions
    async with sessions() as session:
        yield session
        await session.commit()


#: One transaction per request. The scope makes it commit before the answer goes out, so that an answer is true.
DbSession = Annotated[AsyncSession, Depends(_session, scope="function")]


async def _now(request: Request) -> datetime:
    clock: Clock = request.app.state.clock
    return clock.now()


Now = Annotated[datetime, Depends(_now)]


async def _bus(request: Request) -> Bus:
    bus: Bus = request.app.state.bus
    return bus


AppBus = Annotated[Bus, Depends(_bus)]


async def _settings(request: Request) -> Settings:
    settings: Settings = request.app.state.settings
    return settings


AppSettings = Annotated[Settings, Depends(_settings)]


async def _masker(request: Request) -> Masker:
    masker: Masker = request.app.state.masker
    return masker


AppMasker = Annotated[Masker, Depends(_masker)]


async def _trail(request: Request) -> Trail:
    trail: Trail = request.app.state.trail
    return trail


AppTrail = Annotated[Trail, Depends(_trail)]


async def known_user(session: AsyncSession, token: str, *, now: datetime) -> Identity:
    """The user that a token belongs to; `Forbidden` for a sandbox's token."""
    if token.startswith(SANDBOX_PREFIX):
        if await sandboxes.by_token_hash(session, token_hash(token)) is None:
            raise BadToken("this sandbox token is not known")
        raise Forbidden("a sandbox's token cannot do this; it needs a user's API key")
    return await identify_user(session, token, now=now)


async def current_identity(request: Request, token: BearerToken, session: DbSession, now: Now) -> Identity:
    """The user who calls and by what; `Forbidden` for a sandbox's token and for a key that may only read."""
    await _note_sandbox(request, token, session)
    identity = await known_user(session, token, now=now)
    check_scope(identity, request.method)
    return identity


CurrentIdentity = Annotated[Identity, Depends(current_identity)]


async def current_user(identity: CurrentIdentity) -> User:
    """The user who calls."""
    return identity.user


async def _note_sandbox(request: Request, token: str, session: AsyncSession) -> None:
    """Leave an audit entry: a sandbox's token opens no user's route."""
    if not token.startswith(SANDBOX_PREFIX):
        return
    caller = await sandboxes.by_token_hash(session, token_hash(token))
    if caller is None:
        return
    trail: Trail = request.app.state.trail
    call, wanted = f"{request.method} {request.url.path}", request.path_params.get("sandbox_id")
    if wanted is not None and caller.id != wanted:
        await trail.record(foreign(caller.id, wanted, call))
    else:
        await trail.record(refused(caller.id, call, "a sandbox's token cannot do this"))


CurrentUser = Annotated[User, Depends(current_user)]


async def admin_user(user: CurrentUser) -> User:
    """The administrator who calls."""
    if user.role != Role.ADMIN:
        raise Forbidden("only an administrator can do this")
    if not user.is_admin:
        raise Forbidden("this API key may not administer; use one with the scope admin")
    return user


AdminUser = Annotated[User, Depends(admin_user)]
