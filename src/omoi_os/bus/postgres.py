"""The bus on PostgreSQL: NOTIFY inside the transaction, LISTEN on a connection of its own."""

import asyncio
import contextlib
import logging
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from typing import Any

import psycopg
from sqlalchemy import event, text
from sqlalchemy.ext.asyncio import AsyncSession
from sqlalchemy.orm import Session, SessionTransaction

from omoi_os.bus.base import AfterCommit, Topic, Wakeup
from omoi_os.db.base import plain_url

log = logging.getLogger(__name__)

CHANNEL = "omoi"
RECONNECT_SECONDS = 0.5

_PENDING = "announcements"


class PostgresBus:
    """Wake-ups travel as `topic:key` on one channel; the database sends them when the transaction commits."""

    def __init__(self, database_url: str) -> None:
        self._conninfo = plain_url(database_url)

    async def announce(self, session: AsyncSession, topic: Topic, key: str) -> None:
        """Part of the session's transaction: sent at its commit, all of them together, and only then."""
        sync = session.sync_session
        if not sync.in_transaction():
            sync.begin()
        if _PENDING not in sync.info:
            sync.info[_PENDING] = {}
            event.listen(sync, "before_commit", _notify)
            event.listen(sync, "after_soft_rollback", _forget)
        sync.info[_PENDING][f"{topic}:{key}"] = None

    async def announce_on(self, connection: psycopg.AsyncConnection[Any], topic: Topic, key: str) -> AfterCommit:
        """Part of the connection's transaction; nothing is left to do afterwards."""
        await connection.execute("SELECT pg_notify(%s, %s)", [CHANNEL, f"{topic}:{key}"])
        return _nothing

    @asynccontextmanager
    async def listen(self, *topics: Topic) -> AsyncIterator[AsyncIterator[Wakeup]]:
        """Wake-ups of these topics; each connection, the first included, begins with a `resync`."""
        queue: asyncio.Queue[Wakeup] = asyncio.Queue()
        ready = asyncio.Event()
        task = asyncio.create_task(self._receive(frozenset(topics), queue, ready))
        try:
            await ready.wait()
            yield _drain(queue)
        finally:
            task.cancel()
            with contextlib.suppress(asyncio.CancelledError):
                await task

    async def _receive(self, topics: frozenset[Topic], queue: asyncio.Queue[Wakeup], ready: asyncio.Event) -> None:
        while True:
            try:
                connection = await psycopg.AsyncConnection.connect(self._conninfo, autocommit=True)
                async with connection:
                    await connection.execute(f"LISTEN {CHANNEL}")
                    for topic in topics:
                        queue.put_nowait(Wakeup(topic, "", resync=True))
                    ready.set()
                    async for notice in connection.notifies():
                        name, _, key = notice.payload.partition(":")
                        if name in topics:
                            queue.put_nowait(Wakeup(Topic(name), key))
            except psycopg.Error as error:
                log.warning("bus: connection lost, trying again: %s", str(error).strip())
            await asyncio.sleep(RECONNECT_SECONDS)


async def _nothing() -> None:
    """The database tells the listeners by itself."""


def _notify(session: Session) -> None:
    payloads = list(session.info[_PENDING])
    session.info[_PENDING].clear()
    if payloads:
        session.execute(
            text("SELECT pg_notify(:channel, payload) FROM unnest(CAST(:payloads AS text[])) AS payload"),
            {"channel": CHANNEL, "payloads": payloads},
        )


def _forget(session: Session, _transaction: SessionTransaction) -> None:
    session.info[_PENDING].clear()


async def _drain(queue: asyncio.Queue[Wakeup]) -> AsyncIterator[Wakeup]:
    while True:
        yield await queue.get()
