"""The bus within one process, for unit tests."""

from collections.abc import AsyncIterator, Sequence
from contextlib import asynccontextmanager

from sqlalchemy.ext.asyncio import AsyncSession

from omoi_os.bus.base import Topic, Wakeup
from omoi_os.bus.inbox import Inbox
from omoi_os.bus.pending import Announcement, after_commit


class MemoryBus:
    """Hands each committed announcement to every listener."""

    def __init__(self) -> None:
        self._listeners: list[Inbox] = []

    async def announce(self, session: AsyncSession, topic: Topic, key: str) -> None:
        """Kept until the session commits; dropped when it rolls back."""
        after_commit(session, (topic, key), self._send)

    def _send(self, announced: Sequence[Announcement]) -> None:
        for topic, key in announced:
            for inbox in self._listeners:
                inbox.put(topic, key)

    @asynccontextmanager
    async def listen(self, *topics: Topic) -> AsyncIterator[AsyncIterator[Wakeup]]:
        """Wake-ups from now on, after a `resync`."""
        inbox = Inbox(topics)
        inbox.resync()
        self._listeners.append(inbox)
        try:
            yield inbox.wakeups()
        finally:
            self._listeners.remove(inbox)
