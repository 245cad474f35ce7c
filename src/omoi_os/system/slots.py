"""Limits concurrent work of each client of a server."""

import asyncio
from collections import Counter
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager


class Slots:
    """Limits concurrent work per client, so that one client cannot exhaust shared resources. The rest waits."""

    def __init__(self, each: int) -> None:
        self._each = each
        self._waiting: Counter[str] = Counter()
        self._slots: dict[str, asyncio.Semaphore] = {}

    async def take(self, client: str) -> None:
        """Wait for a free slot. Each one must be released."""
        self._waiting[client] += 1
        slot = self._slots.setdefault(client, asyncio.Semaphore(self._each))
        try:
            await slot.acquire()
        except asyncio.CancelledError:
            self._forget(client)
            raise

    def release(self, client: str) -> None:
        """Release a slot."""
        self._slots[client].release()
        self._forget(client)

    @asynccontextmanager
    async def one(self, client: str) -> AsyncIterator[None]:
        """Hold a slot while the block runs."""
        await self.take(client)
        try:
            yield
        finally:
            self.release(client)

    def _forget(self, client: str) -> None:
        self._waiting[client] -= 1
        if not self._waiting[client]:
            del self._waiting[client], self._slots[client]
