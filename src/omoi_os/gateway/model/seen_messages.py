"""Records which messages the model has seen, by their marks in the requests."""

import asyncio
import logging
import math
import time
from itertools import islice
from uuid import UUID

from sqlalchemy.exc import DBAPIError
from sqlalchemy.exc import TimeoutError as PoolTimeoutError

from omoi_os.bus.base import Bus
from omoi_os.db.base import Sessions
from omoi_os.db.clock import Clock
from omoi_os.protocol.messages import ids_in
from omoi_os.sandboxes.messages.service import mark_seen

log = logging.getLogger(__name__)

#: The most marks that are read from one request; an agent may write marks itself, and further ones are read next time.
MAX_FRESH = 500
_MAX_KNOWN = 10_000
_MAX_SANDBOXES = 4096
_RETRY_SECONDS = (0.2, 1.0, 2.0)
#: Messages are recorded again after this time: a resumed conversation may contain a message that was re-queued.
AGAIN_SECONDS = 60.0


class Sightings:
    """Caches what was recorded, because every request contains the whole conversation.

    A restart loses the cache, which costs one more query per sandbox.
    """

    def __init__(self, sessions: Sessions, bus: Bus) -> None:
        self._sessions = sessions
        self._bus = bus
        self._clock = Clock()
        #: When each message was last recorded, by sandbox.
        self._known: dict[str, dict[str, float]] = {}

    def fresh(self, sandbox_id: str, body: bytes) -> set[str]:
        """Return the messages in a request that were in no earlier one. The caller records them."""
        return self.fresh_of(sandbox_id, ids_in(body))

    def fresh_of(self, sandbox_id: str, found: set[str]) -> set[str]:
        """Return those of these messages that were in no earlier request."""
        if not found:
            return found
        if len(self._known) >= _MAX_SANDBOXES:
            self._known.clear()
        known, now = self._known.setdefault(sandbox_id, {}), time.monotonic()
        if len(known) >= _MAX_KNOWN:
            known.clear()
        due = (mark for mark in found if now - known.get(mark, -math.inf) >= AGAIN_SECONDS)
        fresh = set(islice(due, MAX_FRESH))
        known.update(dict.fromkeys(fresh, now))
        return fresh

    async def record(self, sandbox_id: str, found: set[str]) -> None:
        """Mark messages as seen. Those that cannot be stored now are found again in the next request."""
        ids = [UUID(mark) for mark in found]
        for seconds in _RETRY_SECONDS:
            try:
                async with self._sessions.begin() as session:
                    await self._clock.read(session)
                    await mark_seen(session, self._bus, sandbox_id, ids, now=self._clock.now())
            except (DBAPIError, PoolTimeoutError) as error:
                log.warning("the messages that sandbox %s has seen are not recorded yet: %s", sandbox_id, error)
                await asyncio.sleep(seconds)
            else:
                return
        for mark in found:
            self._known.get(sandbox_id, {}).pop(mark, None)
