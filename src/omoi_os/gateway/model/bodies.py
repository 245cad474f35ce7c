"""Limits the memory for the bodies of model calls, per sandbox and in total."""

import asyncio
from collections import Counter
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager

#: Maximum total size of the bodies in memory, per sandbox and in total. A single body is always accepted.
MAX_BYTES_EACH = 64 * 1024 * 1024
MAX_BYTES = 256 * 1024 * 1024


class Bodies:
    """Counts the bytes of bodies from their arrival until their answers start. Further bodies wait unread."""

    def __init__(self, *, each: int = MAX_BYTES_EACH, total: int = MAX_BYTES) -> None:
        self._each, self._total = each, total
        self._held: Counter[str] = Counter()
        self._changed = asyncio.Condition()

    @asynccontextmanager
    async def held(self, sandbox_id: str, size: int) -> AsyncIterator[None]:
        """Wait until a body of this size fits, and count it while the block runs."""
        async with self._changed:
            await self._changed.wait_for(lambda: self._fits(sandbox_id, size))
            self._held[sandbox_id] += size
        try:
            yield
        finally:
            self._held[sandbox_id] -= size
            if self._held[sandbox_id] <= 0:
                del self._held[sandbox_id]
            async with self._changed:
                self._changed.notify_all()

    def _fits(self, sandbox_id: str, size: int) -> bool:
        own, all_held = self._held[sandbox_id], self._held.total()
        return (own == 0 or own + size <= self._each) and (all_held == 0 or all_held + size <= self._total)
