"""The spool's limit: unsent events are bounded on disk. None is ever dropped; the agent waits for space instead.

Heartbeats are not affected: they are never spooled, and one that cannot be sent at once is discarded.
"""

from __future__ import annotations

from omoi_os.worker.reporter.blobs import Blobs
from omoi_os.worker.reporter.spool import Spool

#: Acknowledged events are removed when they reach this share of the limit.
FORGET_SHARE = 1 / 16

#: Nothing notifies us when a disk has space again.
FIRST_PAUSE_SECONDS = 0.1
LONGEST_PAUSE_SECONDS = 2.0


class SpoolLimit:
    """The limit for events and blobs together."""

    def __init__(self, spool: Spool, blobs: Blobs, *, max_bytes: int) -> None:
        self._spool = spool
        self._blobs = blobs
        self._max_bytes = max_bytes
        #: Whether a caller of `wait` waits now.
        self.is_full = False

    async def wait(self) -> None:
        """Return when another event of any size can be stored."""
        pause = FIRST_PAUSE_SECONDS
        while not self._has_space():
            self.is_full = True
            await self._spool.wait_for_change(seconds=pause)
            pause = min(LONGEST_PAUSE_SECONDS, pause * 2)
        self.is_full = False

    def _has_space(self) -> bool:
        settled = self._blobs.settle() and self._spool.settle()
        if not settled or self._spool.size > self._max_bytes * FORGET_SHARE:
            self._spool.forget()
            settled = self._blobs.settle() and self._spool.settle()
        return settled and self._spool.size + self._blobs.size < self._max_bytes
