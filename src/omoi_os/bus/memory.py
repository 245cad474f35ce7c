"""The bus within one process, for unit tests."""

from collections.abc import AsyncIterator, Sequence
from contextlib import asynccontextmanager
from typing import Any

import psycopg
from sqlalchemy.ext.asyncio import AsyncSession
from sqlalchemy.orm import Session

from omoi_os.bus.base import AfterCommit, Topic, Wakeup
from omoi_os.bus.inbox import Inbox
from omoi_os.bus.pending import Announcement, announce_at


class MemoryBus:
    """Hands each committed announcement to every listener."""

    def __init__(self) -> None:
        self._listeners: list[Inbox] = []

    async def announce(self, session: AsyncSession, topic: Topic, key: str) -> None:
        """Kept until the session commits; dropped when it rolls back."""
        announce_at("after_commit", session, (topic, key), self._committed)

    async def announce_on(self, connection: psycopg.AsyncConnection[Any], topic: Topic, key: str) -> AfterCommit:
        """Told when the caller says that it has committed."""

        async def tell() -> None:
            self._send([(topic, key)])

        return tell

    def _committed(self, _session: Session, announced: Sequence[Announcement]) -> None:
        self._send(announced)

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
