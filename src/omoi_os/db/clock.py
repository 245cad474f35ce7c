"""The database's clock, which every process uses for ages, leases and expiry."""

import asyncio
import contextlib
import time
from collections.abc import Callable
from datetime import UTC, datetime, timedelta
from typing import NoReturn

from sqlalchemy import text
from sqlalchemy.exc import SQLAlchemyError
from sqlalchemy.ext.asyncio import AsyncSession

from omoi_os.db.base import Sessions

READ_SECONDS = 10.0

_READ = text("SELECT clock_timestamp()")


def _system() -> datetime:
    return datetime.now(UTC)


class Clock:
    """The database's time, advanced between two readings by this machine's monotonic clock.

    A jump of this machine's own clock changes nothing. Until the first reading this machine's clock is used.
    """

    def __init__(self, *, system: Callable[[], datetime] = _system) -> None:
        self._read_at = time.monotonic()
        self._time = system()

    def now(self) -> datetime:
        """Return the time, in UTC."""
        return self._time + timedelta(seconds=time.monotonic() - self._read_at)

    async def read(self, session: AsyncSession) -> None:
        """Read the time from the database."""
        asked = time.monotonic()
        found: datetime = (await session.execute(_READ)).scalar_one()
        self._read_at, self._time = (asked + time.monotonic()) / 2, found

    async def keep(self, sessions: Sessions) -> NoReturn:
        """Read the database's time periodically, retrying through outages."""
        while True:
            with contextlib.suppress(SQLAlchemyError, OSError):
                async with sessions() as session:
                    await self.read(session)
            await asyncio.sleep(READ_SECONDS)
