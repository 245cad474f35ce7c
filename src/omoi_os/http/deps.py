"""Dependencies that every route can use: the session, the time, the bus, the settings, the masker.

All are coroutines: FastAPI calls a plain function in a thread, which takes longer.
"""

from collections.abc import AsyncIterator
from datetime import datetime
from typing import Annotated

from fastapi import Depends, Request
from sqlalchemy.ext.asyncio import AsyncSession

from omoi_os.bus.base import Bus
from omoi_os.config import Settings
from omoi_os.db.base import Sessions
from omoi_os.db.clock import Clock
from omoi_os.masking import Masker


async def _session(request: Request) -> AsyncIterator[AsyncSession]:
    sessions: Sessions = request.app.state.sessions
    async with sessions() as session:
        yield session
        await session.commit()


#: One transaction per request. With this scope it commits before the response is sent, so a response is never false.
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
