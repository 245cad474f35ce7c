"""The floor and the peer of a claim, on the platform's own PostgreSQL."""

import asyncio
import importlib.util
import subprocess
import sys
import time
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager, suppress

import psycopg
from psycopg import sql
from psycopg.conninfo import make_conninfo

_DATABASE = "benchmarks"
_ADD = (
    "WITH added AS (INSERT INTO queue DEFAULT VALUES RETURNING id) SELECT id, pg_notify('queued', id::text) FROM added"
)


async def make_database(conninfo: str) -> str:
    """Create a separate database on the same server and return its address."""
    async with await psycopg.AsyncConnection.connect(conninfo, autocommit=True) as connection:
        await connection.execute(sql.SQL("CREATE DATABASE {}").format(sql.Identifier(_DATABASE)))
    return make_conninfo(conninfo, dbname=_DATABASE)


class BareQueue:
    """A table, SKIP LOCKED and NOTIFY: one process adds a row, another claims it."""

    def __init__(self, conninfo: str) -> None:
        self._conninfo = conninfo

    @asynccontextmanager
    async def running(self) -> AsyncIterator["BareQueue"]:
        """Run a claimer in a separate process."""
        connect = psycopg.AsyncConnection.connect
        async with (
            await connect(self._conninfo, autocommit=True) as self._hands,
            await connect(self._conninfo, autocommit=True) as self._ears,
        ):
            await self._hands.execute(
                "CREATE TABLE queue (id bigint GENERATED ALWAYS AS IDENTITY PRIMARY KEY, "
                "status text NOT NULL DEFAULT 'queued')"
            )
            await self._ears.execute("LISTEN claimed")
            async with _program("benchmarks.peers.bare_claimer", self._conninfo):
                yield self

    async def measure(self) -> float:
        """Return the milliseconds from just before a row is added to the notification of its committed claim."""
        begun = time.perf_counter()
        await self._hands.execute(_ADD)
        async for _ in self._ears.notifies(stop_after=1, timeout=10):
            return (time.perf_counter() - begun) * 1000
        raise TimeoutError("the bare queue's claimer did not claim")


class Procrastinate:
    """procrastinate: one process defers a job, the worker in another one starts it."""

    def __init__(self, conninfo: str) -> None:
        self._conninfo = conninfo

    @staticmethod
    def installed() -> bool:
        """Return whether procrastinate is installed."""
        return importlib.util.find_spec("procrastinate") is not None

    @asynccontextmanager
    async def running(self) -> AsyncIterator["Procrastinate"]:
        """Run a worker and a producer, each in a separate process."""
        async with (
            _program("benchmarks.peers.procrastinate_peer", "work", self._conninfo) as self._worker,
            _program("benchmarks.peers.procrastinate_peer", "defer", self._conninfo) as self._producer,
        ):
            yield self

    async def measure(self) -> float:
        """Return the milliseconds from just before a job is deferred to the first line of its function."""
        assert self._producer.stdin is not None
        assert self._worker.stdout is not None
        self._producer.stdin.write(b"\n")
        return float(await asyncio.wait_for(self._worker.stdout.readline(), 10))


@asynccontextmanager
async def _program(*arguments: str) -> AsyncIterator[asyncio.subprocess.Process]:
    """Run one of the benchmark's programs; enter the block once it has printed `ready`."""
    process = await asyncio.create_subprocess_exec(
        sys.executable, "-m", *arguments, stdin=subprocess.PIPE, stdout=subprocess.PIPE
    )
    try:
        assert process.stdout is not None
        if await process.stdout.readline() != b"ready\n":
            raise RuntimeError(f"{arguments[0]} did not start; see its output above")
        yield process
    finally:
        with suppress(ProcessLookupError):
            process.kill()
        await process.wait()
