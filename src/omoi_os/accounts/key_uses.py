"""Stores when API keys were last used, without a write in the requests themselves."""

import asyncio
import logging
from datetime import datetime, timedelta
from uuid import UUID

from sqlalchemy.exc import SQLAlchemyError

from omoi_os.accounts import repository
from omoi_os.db.base import Sessions

log = logging.getLogger(__name__)

#: Precision of `last_used_at`: one write per key in this time, over all processes.
PRECISION = timedelta(minutes=1)
#: How long uses are collected, to be stored with one statement.
PAUSE_SECONDS = 20.0


class KeyUses:
    """Collects the uses of keys in memory and stores them later, so that no request waits for it."""

    def __init__(self, sessions: Sessions, *, pause: float = PAUSE_SECONDS) -> None:
        self._sessions, self._pause = sessions, pause
        self._noted: dict[UUID, datetime] = {}
        self._tasks: set[asyncio.Task[None]] = set()

    def note(self, key_id: UUID, *, now: datetime) -> None:
        """Note that a key was used now."""
        if not self._noted:
            asyncio.get_running_loop().call_later(self._pause, self._start)
        self._noted[key_id] = now

    async def close(self) -> None:
        """Store the uses that are only in memory."""
        self._start()
        await asyncio.gather(*self._tasks)

    def _start(self) -> None:
        noted, self._noted = self._noted, {}
        if noted:
            task = asyncio.create_task(self._store(noted))
            self._tasks.add(task)
            task.add_done_callback(self._tasks.discard)

    async def _store(self, noted: dict[UUID, datetime]) -> None:
        try:
            async with self._sessions.begin() as session:
                await repository.note_key_uses(session, noted, precision=PRECISION)
        except (SQLAlchemyError, OSError) as error:
            log.warning("the use of %d API keys could not be stored: %s", len(noted), str(error).partition("\n")[0])
