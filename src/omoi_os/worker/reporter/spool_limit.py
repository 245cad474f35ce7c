"""Room: what waits to be sent is bounded on disk. Nothing of it is ever dropped: the agent waits until there is room.

Heartbeats are not affected: they are never written down, and one that cannot be sent at once is gone.
"""

from __future__ import annotations

from omoi_os.worker.reporter.blobs import Blobs
from omoi_os.worker.reporter.spool import Spool

#: What is acknowledged is forgotten when it has this share of the bound.
FORGET_SHARE = 1 / 16

#: Nobody tells when a disk has room again.
FIRST_PAUSE_SECONDS = 0.1
LONGEST_PAUSE_SECONDS = 2.0


class Room:
    """How much may wait on disk, events and large values together."""

    def __init__(self, spool: Spool, blobs: Blobs, *, max_bytes: int) -> None:
        self._spool = spool
        self._blobs = blobs
        self._max_bytes = max_bytes
        #: Whether somebody waits for room now.
        self.is_full = False

    async def wait(self) -> None:
        """Return when there is room for another event, of any size; at once as long as there is some."""
        pause = FIRST_PAUSE_SECONDS
        while not self._is_there():
            self.is_full = True
            await self._spool.wait_for_change(seconds=pause)
            pause = min(LONGEST_PAUSE_SECONDS, pause * 2)
        self.is_full = False

    def _is_there(self) -> bool:
        settled = self._blobs.settle() and self._spool.settle()
        if not settled or self._spool.size > self._max_bytes * FORGET_SHARE:
            self._spool.forget()
            settled = self._blobs.settle() and self._spool.settle()
        return settled and self._spool.size + self._blobs.size < self._max_bytes
