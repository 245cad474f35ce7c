"""The bus within one process, for unit tests."""

import asyncio
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from typing import Any

import psycopg
from sqlalchemy import event
from sqlalchemy.ext.asyncio import AsyncSession
from sqlalchemy.orm import Session

from omoi_os.bus.base import AfterCommit, Topic, Wakeup

_PENDING = "wakeups"


class MemoryBus:
    """Hands each committed announcement to every listener."""

    def __init__(self) -> None:
        self._listeners: list[tuple[frozenset[Topic], asyncio.Queue[Wakeup]]] = []

    async def announce(self, session: AsyncSession, topic: Topic, key: str) -> None:
        """Kept until the session commits; dropped when it rolls back."""
        sync = session.sync_session
        if _PENDING not in sync.info:
            sync.info[_PENDING] = []
            event.listen(sync, "after_commit", self._flush)
            event.listen(sync, "after_rollback", _forget)
        sync.info[_PENDING].append(Wakeup(topic, key))

    async def announce_on(self, connection: psycopg.AsyncConnection[Any], topic: Topic, key: str) -> AfterCommit:
        """Told when the caller says that it has committed."""

        async def tell() -> None:
            self._tell(Wakeup(topic, key))

        return tell

    def _flush(self, session: Session) -> None:
        wakeups = session.info[_PENDING]
        session.info[_PENDING] = []
        for wakeup in wakeups:
            self._tell(wakeup)

    def _tell(self, wakeup: Wakeup) -> None:
        for topics, queue in self._listeners:
            if wakeup.topic in topics:
                queue.put_nowait(wakeup)

    @asynccontextmanager
    async def listen(self, *topics: Topic) -> AsyncIterator[AsyncIterator[Wakeup]]:
        """Wake-ups from now on."""
        queue: asyncio.Queue[Wakeup] = asyncio.Queue()
        entry = (frozenset(topics), queue)
        self._listeners.append(entry)
        try:
            yield _drain(queue)
        finally:
            self._listeners.remove(entry)


def _forget(session: Session) -> None:
    session.info[_PENDING] = []


async def _drain(queue: asyncio.Queue[Wakeup]) -> AsyncIterator[Wakeup]:
    while True:
        yield await queue.get()
