"""The presence of orchestrators: each holds a database lock that ends with its connection."""

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
#: The name of the connection, which shows operators the running orchestrators.
NAME = "omoi orchestrator"


@asynccontextmanager
async def presence(conninfo: str) -> AsyncIterator[int]:
    """Take a presence number and hold its lock until the context ends."""
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
    """Return whether the orchestrator with this number is running."""
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
            log.warning("presence: connection lost, reconnecting: %s", str(error).strip())
        await asyncio.sleep(RECONNECT_SECONDS)


async def connected_since(session: AsyncSession, name: str) -> Sequence[datetime]:
    """Return since when each process with a connection of this name has been connected."""
    query = text(
        "SELECT backend_start FROM pg_stat_activity"
        " WHERE application_name = :name AND datname = current_database() ORDER BY backend_start"
    )
    return list((await session.execute(query, {"name": name})).scalars())
