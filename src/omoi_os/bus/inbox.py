"""What one listener has not looked at yet."""

import asyncio
from collections.abc import AsyncIterator, Iterable

from omoi_os.bus.base import Topic, Wakeup

#: Beyond so many, looking at everything is cheaper than looking at each.
LIMIT = 10_000


class Inbox:
    """Bounded: more wake-ups than it holds become one `resync` for each topic."""

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
        """Anything may have changed: this takes the place of all that waits."""
        while not self._queue.empty():
            self._queue.get_nowait()
        for topic in self._topics:
            self._queue.put_nowait(Wakeup(topic, "", resync=True))

    async def wakeups(self) -> AsyncIterator[Wakeup]:
        """One after the other, as they come."""
        while True:
            yield await self._queue.get()
