"""The bus within one process, for unit tests."""

from collections.abc import AsyncIterator, Sequence
from contextlib import asynccontextmanager
from functools import partial

from sqlalchemy.ext.asyncio import AsyncSession
from sqlalchemy.orm import Session

from omoi_os.bus.base import Announcement, Notice, Topic, Wakeup
from omoi_os.bus.inbox import Inbox
from omoi_os.db.at_commit import collect


class MemoryBus:
    """Send each committed announcement to every listener."""

    def __init__(self) -> None:
        self._listeners: list[Inbox] = []

    async def announce(self, session: AsyncSession, topic: Topic, key: str) -> None:
        """Send the wake-up when the session commits; drop it when it rolls back."""
        collect("after_commit", session, (topic, key), self._committed)

    def notice(self, topic: Topic, key: str) -> Notice:
        """Return a wake-up that the caller sends after its commit."""
        return Notice(committed=partial(self._send, [(topic, key)]))

    def _committed(self, _session: Session, announced: Sequence[Announcement]) -> None:
        self._send(announced)

    def _send(self, announced: Sequence[Announcement]) -> None:
        for topic, key in announced:
            for inbox in self._listeners:
                inbox.put(topic, key)

    @asynccontextmanager
    async def listen(self, *topics: Topic) -> AsyncIterator[AsyncIterator[Wakeup]]:
        """Receive wake-ups from now on, after a `resync`."""
        inbox = Inbox(topics)
        inbox.resync()
        self._listeners.append(inbox)
        try:
            yield inbox.wakeups()
        finally:
            self._listeners.remove(inbox)
