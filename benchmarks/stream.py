"""Measure the way from a POST to its subscribers: P8."""

import asyncio
import contextlib
import json
import shutil
import socket
import subprocess
import sys
import tempfile
import time
from collections.abc import AsyncIterator, Sequence
from contextlib import asynccontextmanager
from pathlib import Path
from statistics import median
from typing import Any

import httpx
import psycopg

from benchmarks.figures import Beside, Figure, percentile
from omoi_os.db import embedded, migrate
from omoi_os.db.base import make_engine, make_sessions, plain_url
from tests.stream.servers import ADMIN, Place, Server, a_place, serving

_SANDBOXES = 200
_SUBSCRIBERS = 1000
_RATE = 1000
#: Events in one POST: what a worker sends when its agent is busy.
_BATCH = 50
_SECONDS = 5.0
_WRITERS = 4
_LIMIT_MS = 15.0

Arrivals = list[tuple[float, float]]


class Crowd:
    """The subscribers' program."""

    def __init__(self, process: asyncio.subprocess.Process) -> None:
        self._process = process

    async def arrivals(self) -> Arrivals:
        """Return the arrivals since the last call: when each was sent, and when it arrived."""
        assert self._process.stdin is not None
        assert self._process.stdout is not None
        self._process.stdin.write(b"\n")
        return [(at, sent) for at, sent in json.loads(await self._process.stdout.readline())]

    async def until(self, number: int, *, patience: float = 30.0) -> Arrivals:
        """Return this many arrivals. Raise `RuntimeError` if some are missing after a while."""
        found: Arrivals = []
        deadline = time.monotonic() + patience
        while len(found) < number and time.monotonic() < deadline:
            await asyncio.sleep(0.1)
            found += await self.arrivals()
        if len(found) != number:
            raise RuntimeError(f"{len(found)} lines arrived instead of {number}")
        return found


@asynccontextmanager
async def crowd(port: int, queries: Sequence[str | None]) -> AsyncIterator[Crowd]:
    """Run the subscribers; enter the block once all are connected."""
    async with _program("benchmarks.load.subscribers", str(port), ADMIN) as process:
        assert process.stdin is not None
        assert process.stdout is not None
        process.stdin.write(json.dumps(list(queries)).encode() + b"\n")
        if await process.stdout.readline() != b"ready\n":
            raise RuntimeError("the subscribers could not connect; see their output above")
        yield Crowd(process)


@asynccontextmanager
async def _program(*arguments: str) -> AsyncIterator[asyncio.subprocess.Process]:
    process = await asyncio.create_subprocess_exec(
        sys.executable, "-m", *arguments, stdin=subprocess.PIPE, stdout=subprocess.PIPE, limit=1 << 27
    )
    try:
        yield process
    finally:
        with contextlib.suppress(ProcessLookupError):
            process.kill()
        await process.wait()


#: The same commit as ingest's: the event, the sandbox's number, the outbox, the wake-up.
_WRITE = """
WITH numbered AS (
    UPDATE sandboxes SET last_seq = last_seq + 1 WHERE id = %(sandbox)s RETURNING id, project_id, last_seq, fence
), stored AS (
    INSERT INTO sandbox_events (sandbox_id, seq, event_id, fence, event_type, event_data, source, occurred_at)
    SELECT id, last_seq, gen_random_uuid()::text, fence, 'agent.message', json_build_object('t', %(t)s::float8),
        'agent', now() FROM numbered
), published AS (
    INSERT INTO outbox (change, project_id, sandbox_id, first_seq, last_seq)
    SELECT 'sandbox.event', project_id, id, last_seq, last_seq FROM numbered
)
SELECT pg_notify('omoi', 'stream:')
"""


async def write(connection: "psycopg.AsyncConnection[Any]", place: Place) -> None:
    """Commit one event by a cheap writer, so that the figure shows the stream alone."""
    await connection.execute(_WRITE, {"sandbox": place.sandbox_id, "t": round(time.time(), 6)})


async def write_at_rate(url: str, places: Sequence[Place]) -> int:
    """Commit single events at the rate, over a few connections; return how many."""
    loop = asyncio.get_running_loop()
    total = int(_SECONDS * _RATE)
    begun = loop.time()

    async def work(worker: int) -> None:
        async with await psycopg.AsyncConnection.connect(url, autocommit=True) as connection:
            for number in range(worker, total, _WRITERS):
                await asyncio.sleep(max(0.0, begun + number / _RATE - loop.time()))
                await write(connection, places[number % len(places)])

    await asyncio.gather(*(work(worker) for worker in range(_WRITERS)))
    return total


async def committed(server: Server, url: str, places: Sequence[Place]) -> list[float]:
    """Return the milliseconds from just before an event's commit to each of its subscribers, at the rate."""
    async with crowd(server.port, _queries(places)) as ears:
        sent = await write_at_rate(url, places)
        found = await ears.until(sent * _SUBSCRIBERS // len(places))
    return [(at - begun) * 1000 for at, begun in found]


def _queries(places: Sequence[Place]) -> list[str]:
    return [f"types=sandbox.event&sandbox_id={places[n % len(places)].sandbox_id}" for n in range(_SUBSCRIBERS)]


async def post_at_rate(server: Server, places: Sequence[Place]) -> dict[float, float]:
    """Batches at the rate, open loop: each is sent when it is due, however long the others take.

    Returns when each was answered, by when it was due.
    """
    limits = httpx.Limits(max_connections=100)
    loop = asyncio.get_running_loop()
    answered: dict[float, float] = {}
    in_order = {place.sandbox_id: asyncio.Lock() for place in places}

    async def post(place: Place) -> None:
        due = round(time.time(), 6)
        async with in_order[place.sandbox_id]:
            await place.post(client, _BATCH, t=due)
        answered[due] = time.time()

    async with httpx.AsyncClient(base_url=server.url, trust_env=False, timeout=None, limits=limits) as client:
        begun, sending = loop.time(), []
        for number in range(int(_SECONDS * _RATE / _BATCH)):
            await asyncio.sleep(max(0.0, begun + number * _BATCH / _RATE - loop.time()))
            sending.append(asyncio.create_task(post(places[number % len(places)])))
        await asyncio.gather(*sending)
    return answered


async def steady(server: Server, places: Sequence[Place]) -> tuple[list[float], list[float]]:
    """Return the milliseconds from before the POST, and from its answer, to each subscriber, at the rate."""
    async with httpx.AsyncClient(base_url=server.url, trust_env=False, timeout=None) as client:
        for place in places:  # a sandbox's first event also changes the task's state, which P1 measures
            await place.post(client, 1)
    async with crowd(server.port, _queries(places)) as ears:
        answered = await post_at_rate(server, places)
        found = await ears.until(len(answered) * _BATCH * _SUBSCRIBERS // len(places))
    return [(at - due) * 1000 for at, due in found], [(at - answered[due]) * 1000 for at, due in found]


async def to_all(server: Server, url: str, place: Place, rounds: int) -> list[list[float]]:
    """Send one event to all; return the milliseconds of each round from its first arrival to each."""
    connect = psycopg.AsyncConnection.connect(url, autocommit=True)
    async with crowd(server.port, ["types=sandbox.event"] * _SUBSCRIBERS) as ears, await connect as connection:
        samples = []
        for _ in range(rounds):
            await write(connection, place)
            samples.append(_spread(await ears.until(_SUBSCRIBERS)))
        return samples


async def raw(rounds: int) -> list[list[float]]:
    """Measure the same over bare TCP."""
    async with _program("benchmarks.peers.raw_fanout", str(_SUBSCRIBERS)) as process:
        assert process.stdin is not None
        assert process.stdout is not None
        port = int(await process.stdout.readline())
        async with crowd(port, [None] * _SUBSCRIBERS) as ears:
            samples = []
            for _ in range(rounds):
                process.stdin.write(b"\n")
                samples.append(_spread(await ears.until(_SUBSCRIBERS)))
            return samples


def _spread(arrivals: Arrivals) -> list[float]:
    first = min(at for at, _ in arrivals)
    return [(at - first) * 1000 for at, _ in arrivals]


@asynccontextmanager
async def _stalled(server: Server) -> AsyncIterator[None]:
    """Connect a client that subscribes to everything and reads nothing."""
    client = await asyncio.to_thread(socket.create_connection, ("127.0.0.1", server.port))
    request = (
        "GET /api/v1/ws/events HTTP/1.1\r\nHost: omoi\r\nConnection: Upgrade\r\nUpgrade: websocket\r\n"
        "Sec-WebSocket-Version: 13\r\nSec-WebSocket-Key: dGhlIHNhbXBsZSBub25jZQ==\r\n"
        f"Authorization: Bearer {ADMIN}\r\n\r\n"
    )
    await asyncio.to_thread(client.sendall, request.encode())
    await asyncio.to_thread(client.recv, 12)
    try:
        yield
    finally:
        client.close()


@asynccontextmanager
async def _platform() -> AsyncIterator[tuple[Server, str, list[Place]]]:
    folder = Path(tempfile.mkdtemp(prefix="omoi-bs-", dir="/tmp"))
    try:
        url = await embedded.start(folder)
        await migrate.upgrade(url)
        engine = make_engine(url)
        places = [await a_place(make_sessions(engine)) for _ in range(_SANDBOXES)]
        await engine.dispose()
        async with serving(url, OMOI_STREAM_CONNECTIONS="5000") as server:
            yield server, plain_url(url), places
    finally:
        await embedded.stop(folder)
        shutil.rmtree(folder, ignore_errors=True)


async def measure(rounds: int) -> list[Figure]:
    """Measure P8 and return its figures."""
    async with _platform() as (server, url, places):
        await committed(server, url, places)
        alone = await committed(server, url, places)
        async with _stalled(server):
            stalled = await committed(server, url, places)
        ours = await to_all(server, url, places[0], rounds)
        floor = await raw(rounds)
        posted, after_answer = await steady(server, places)
    limit = Beside("limit", [_LIMIT_MS])
    p99 = [percentile(alone, 0.99)]
    each, bare = ([percentile(sample, 0.99) for sample in samples] for samples in (ours, floor))
    return [
        Figure("P8 POST → subscriber, 1,000 events/s, p99", [percentile(posted, 0.99)], limit, goal=1.0),
        Figure("   of that after the answer", [percentile(after_answer, 0.99)], limit),
        Figure("   commit → subscriber, p99", p99, limit),
        Figure("   commit → subscriber, median", [median(alone)], limit),
        Figure("P8 one event to all 1,000, p99", each, Beside("raw TCP", bare), goal=1.5),
        Figure("P8 p99 beside a stalled client", [percentile(stalled, 0.99)], Beside("without one", p99), goal=2.0),
    ]
