"""The bus on PostgreSQL: NOTIFY inside the transaction, LISTEN on a connection of its own."""

import asyncio
import contextlib
import logging
from collections.abc import AsyncIterator, Sequence
from contextlib import asynccontextmanager

import psycopg
from sqlalchemy import text
from sqlalchemy.ext.asyncio import AsyncSession
from sqlalchemy.orm import Session

from omoi_os.bus.base import Notice, Topic, Wakeup
from omoi_os.bus.inbox import Inbox
from omoi_os.bus.pending import Announcement, announce_at
from omoi_os.db.base import plain_url

log = logging.getLogger(__name__)

CHANNEL = "omoi"
RECONNECT_SECONDS = 0.5


class PostgresBus:
    """Wake-ups travel as `topic:key` on one channel; the database sends them when the transaction commits."""

    def __init__(self, database_url: str) -> None:
        self._conninfo = plain_url(database_url)

    async def announce(self, session: AsyncSession, topic: Topic, key: str) -> None:
        """Part of the session's transaction: sent at its commit, all of them together, and only then."""
        announce_at("before_commit", session, (topic, key), _notify)

    def notice(self, topic: Topic, key: str) -> Notice:
        """Part of the transaction; nothing is left to do afterwards."""
        return Notice(CHANNEL, f"{topic}:{key}")

    @asynccontextmanager
    async def listen(self, *topics: Topic) -> AsyncIterator[AsyncIterator[Wakeup]]:
        """Wake-ups of these topics; each connection, the first included, begins with a `resync`."""
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
                log.warning("bus: connection lost, trying again: %s", str(error).strip())
            await asyncio.sleep(RECONNECT_SECONDS)


def _notify(session: Session, announced: Sequence[Announcement]) -> None:
    payloads = list(dict.fromkeys(f"{topic}:{key}" for topic, key in announced))
    session.execute(
        text("SELECT pg_notify(:channel, payload) FROM unnest(CAST(:payloads AS text[])) AS payload"),
        {"channel": CHANNEL, "payloads": payloads},
    )
