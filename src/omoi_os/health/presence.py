"""Shows the other orchestrators that this one lives: a database lock that ends with the connection."""

import asyncio
import contextlib
import logging
import secrets
from collections.abc import AsyncIterator, Sequence
from contextlib import asynccontextmanager
from datetime import datetime

import psycopg
from sqlalchemy import text
from sqlalchemy.ext.asyncio import AsyncSession

log = logging.getLogger(__name__)

RECONNECT_SECONDS = 0.5
#: The name of the connection, by which people see which orchestrators there are.
NAME = "omoi orchestrator"


@asynccontextmanager
async def presence(conninfo: str) -> AsyncIterator[int]:
    """A number of one's own, shown as taken for as long as the context lasts."""
    owner = secrets.randbits(62)
    held = asyncio.Event()
    task = asyncio.create_task(_hold(conninfo, owner, held))
    try:
        await held.wait()
        yield owner
    finally:
        task.cancel()
        with contextlib.suppress(asyncio.CancelledError):
            await task


async def is_present(session: AsyncSession, owner: int) -> bool:
    """Whether the orchestrator with this number lives."""
    free = await session.execute(text("SELECT pg_try_advisory_xact_lock(:owner)"), {"owner": owner})
    return not free.scalar_one()


async def _hold(conninfo: str, owner: int, held: asyncio.Event) -> None:
    while True:
        try:
            async with await psycopg.AsyncConnection.connect(
                conninfo, autocommit=True, application_name=NAME
            ) as connection:
                await connection.execute("SELECT pg_advisory_lock(%s)", [owner])
                held.set()
                async for _ in connection.notifies():
                    pass
        except psycopg.Error as error:
            log.warning("presence: connection lost, trying again: %s", str(error).strip())
        await asyncio.sleep(RECONNECT_SECONDS)


async def connected_since(session: AsyncSession, name: str) -> Sequence[datetime]:
    """Since when each process that holds a connection of this name does so."""
    query = text(
        "SELECT backend_start FROM pg_stat_activity"
        " WHERE application_name = :name AND datname = current_database() ORDER BY backend_start"
    )
    return list((await session.execute(query, {"name": name})).scalars())
