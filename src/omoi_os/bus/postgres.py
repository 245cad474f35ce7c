"""The bus on PostgreSQL: NOTIFY inside the transaction, LISTEN on a separate connection."""

import asyncio
import contextlib
import logging
from collections.abc import AsyncIterator, Sequence
from contextlib import asynccontextmanager

import psycopg
from sqlalchemy import text
from sqlalchemy.ext.asyncio import AsyncSession
from sqlalchemy.orm import Session

from omoi_os.bus.base import Announcement, Notice, Topic, Wakeup
from omoi_os.bus.inbox import Inbox
from omoi_os.db.at_commit import collect
from omoi_os.db.base import plain_url

log = logging.getLogger(__name__)

CHANNEL = "omoi"
RECONNECT_SECONDS = 0.5


class PostgresBus:
    """Send wake-ups as `topic:key` on one channel; the database delivers them when the transaction commits."""

    def __init__(self, database_url: str) -> None:
        self._conninfo = plain_url(database_url)

    async def announce(self, session: AsyncSession, topic: Topic, key: str) -> None:
        """Notify in the session's transaction, so that all wake-ups are delivered together at its commit."""
        collect("before_commit", session, (topic, key), _notify)

    def notice(self, topic: Topic, key: str) -> Notice:
        """Return a notice for the transaction itself; nothing is called after its commit."""
        return Notice(CHANNEL, f"{topic}:{key}")

    @asynccontextmanager
    async def listen(self, *topics: Topic) -> AsyncIterator[AsyncIterator[Wakeup]]:
        """Receive wake-ups of these topics. Each connection, the first included, starts with a `resync`."""
        inbox = Inbox(topics)
        ready = asyncio.Event()
        task = asyncio.create_task(self._receive(inbox, ready))
        try:
            await ready.wait()
            yield inbox.wakeups()
        finally:
            task.cancel()
            with contextlib.suppress(asyncio.CancelledError):
                await task

    async def _receive(self, inbox: Inbox, ready: asyncio.Event) -> None:
        while True:
            try:
                connection = await psycopg.AsyncConnection.connect(self._conninfo, autocommit=True)
                async with connection:
                    await connection.execute(f"LISTEN {CHANNEL}")
                    inbox.resync()
                    ready.set()
                    async for notice in connection.notifies():
                        topic, _, key = notice.payload.partition(":")
                        inbox.put(topic, key)
            except psycopg.Error as error:
                log.warning("bus: connection lost, reconnecting: %s", str(error).strip())
            await asyncio.sleep(RECONNECT_SECONDS)


def _notify(session: Session, announced: Sequence[Announcement]) -> None:
    payloads = list(dict.fromkeys(f"{topic}:{key}" for topic, key in announced))
    session.execute(
        text("SELECT pg_notify(:channel, payload) FROM unnest(CAST(:payloads AS text[])) AS payload"),
        {"channel": CHANNEL, "payloads": payloads},
    )
