"""The wake-ups that one listener has not processed yet."""

import asyncio
from collections.abc import AsyncIterator, Iterable

from omoi_os.bus.base import Topic, Wakeup

#: Beyond this number, checking everything is cheaper than checking each.
LIMIT = 10_000


class Inbox:
    """A bounded queue: when it overflows, its wake-ups become one `resync` per topic."""

    def __init__(self, topics: Iterable[Topic]) -> None:
        self._topics = tuple(dict.fromkeys(topics))
        self._queue: asyncio.Queue[Wakeup] = asyncio.Queue()

    def put(self, topic: str, key: str) -> None:
        """Keep a wake-up if its topic is listened to."""
        if topic not in self._topics:
            return
        if self._queue.qsize() >= LIMIT:
            self.resync()
        else:
            self._queue.put_nowait(Wakeup(Topic(topic), key))

    def resync(self) -> None:
        """Replace all queued wake-ups by a `resync` for each topic."""
        while not self._queue.empty():
            self._queue.get_nowait()
        for topic in self._topics:
            self._queue.put_nowait(Wakeup(topic, "", resync=True))

    async def wakeups(self) -> AsyncIterator[Wakeup]:
        """Yield the wake-ups as they arrive."""
        while True:
            yield await self._queue.get()
