"""Measure ingest: P5, P6, P7, P17 and attack 35, each next to its floor, peer or limit."""

import asyncio
import json
import shutil
import subprocess
import sys
import tempfile
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from dataclasses import dataclass
from datetime import UTC, datetime
from pathlib import Path
from statistics import median
from time import perf_counter
from typing import Any

import psycopg

from benchmarks.figures import Beside, Figure, percentile
from omoi_os.db import embedded
from omoi_os.db.base import make_engine, make_sessions, plain_url
from omoi_os.db.migrate import upgrade
from omoi_os.ids import uuid7
from tests.api_process import ApiProcess, Reporter, make_reporters

_SECONDS = 3.0
_CONNECTIONS = 256
_BATCH = 50
_BATCHERS = 8
_FLOOD_BATCH = 500
_FEW, _MANY = 100, 100_000
_SLOW_RATE, _FAST_RATE = 300.0, 2_000.0
_COPY = (
    "COPY sandbox_events (sandbox_id, seq, event_id, fence, posted_seq, event_type, event_data, source, occurred_at,"
    " created_at) FROM STDIN"
)
_DATA = json.dumps({"tool": "Bash", "tool_use_id": "toolu_1", "is_error": False, "output": "All checks passed. " * 12})


@dataclass(frozen=True, slots=True)
class Round:
    """One sample of everything: requests or events per second, and milliseconds."""

    single: float
    empty: float
    usual: float
    batched: float
    copied: float
    slow_p99: float
    fast_p99: float
    flooded_p99: float
    few: float
    many: float


@dataclass(frozen=True, slots=True)
class Bench:
    """Our API and its two peers, each with a database and reporters."""

    api: ApiProcess
    empty_port: int
    usual_port: int
    database_url: str

    async def reporters(self, count: int) -> list[Reporter]:
        """Return new running sandboxes."""
        engine = make_engine(self.database_url)
        try:
            return await make_reporters(make_sessions(engine), count, at_work=True)
        finally:
            await engine.dispose()


async def measure(rounds: int) -> list[Round]:
    """Measure ours and the peers in turns."""
    async with _bench() as bench:
        return [await _round(bench) for _ in range(rounds)]


async def _round(bench: Bench) -> Round:
    reporters = await bench.reporters(_CONNECTIONS)
    single = await _rate(bench.api.port, reporters)
    empty = await _rate(bench.empty_port, reporters)
    usual = await _rate(bench.usual_port, await bench.reporters(_CONNECTIONS))
    batched = _BATCH * await _rate(bench.api.port, await bench.reporters(_BATCHERS), per_post=_BATCH)
    copied = await _copy_rate(bench.database_url, await bench.reporters(_BATCHERS))
    slow = await _post(bench.api.port, await bench.reporters(_CONNECTIONS), rate=_SLOW_RATE)
    fast = await _post(bench.api.port, await bench.reporters(_CONNECTIONS), rate=_FAST_RATE)
    flooded = await _beside_a_flood(bench)
    few, many = await bench.reporters(2)
    await asyncio.to_thread(_fill, bench.database_url, few, _FEW)
    await asyncio.to_thread(_fill, bench.database_url, many, _MANY)
    return Round(
        single=single,
        empty=empty,
        usual=usual,
        batched=batched,
        copied=copied,
        slow_p99=percentile(slow["took"], 0.99) * 1000,
        fast_p99=percentile(fast["took"], 0.99) * 1000,
        flooded_p99=percentile(flooded["took"], 0.99) * 1000,
        few=await _cost(bench, few, first=_FEW),
        many=await _cost(bench, many, first=_MANY),
    )


async def _beside_a_flood(bench: Bench) -> dict[str, Any]:
    """Measure the slow rate again while another sandbox sends as fast as its connection allows."""
    flood = _post(bench.api.port, await bench.reporters(1), per_post=_FLOOD_BATCH, seconds=_SECONDS + 2, floods=True)
    neighbours = _post(bench.api.port, await bench.reporters(_CONNECTIONS), rate=_SLOW_RATE)
    measured: dict[str, Any]
    _, measured = await asyncio.gather(flood, neighbours)
    return measured


async def _cost(bench: Bench, reporter: Reporter, *, first: int) -> float:
    """Return the milliseconds for one event of a sandbox that posts one after the other."""
    took: list[float] = (await _post(bench.api.port, [reporter], first=first + 1, seconds=0.5))["took"]
    return median(took) * 1000


async def _rate(port: int, reporters: list[Reporter], *, per_post: int = 1) -> float:
    measured = await _post(port, reporters, per_post=per_post)
    return len(measured["took"]) / float(measured["seconds"])


async def _post(port: int, reporters: list[Reporter], **plan: Any) -> dict[str, Any]:
    """Run the load generator and return its measurements."""
    first = plan.pop("first", 1)
    rest = "/events/batch" if plan.get("per_post", 1) > 1 else "/events"
    senders = [{"path": each.path(rest), "token": each.token, "first": first} for each in reporters]
    whole = {"host": "127.0.0.1", "port": port, "per_post": 1, "seconds": _SECONDS, "senders": senders} | plan
    process = await asyncio.create_subprocess_exec(
        sys.executable, "-m", "benchmarks.load.poster", stdin=subprocess.PIPE, stdout=subprocess.PIPE
    )
    printed, _ = await process.communicate(json.dumps(whole).encode())
    if process.returncode != 0:
        raise RuntimeError("the load generator failed; see its output above")
    return dict(json.loads(printed))


async def _copy_rate(database_url: str, reporters: list[Reporter]) -> float:
    """Return the rows per second of COPY into the same table from as many connections, fifty per commit."""
    over = perf_counter() + _SECONDS
    begun = perf_counter()
    copied = await asyncio.gather(*(_copy(database_url, reporter, until=over) for reporter in reporters))
    return sum(copied) / (perf_counter() - begun)


async def _copy(database_url: str, reporter: Reporter, *, until: float) -> int:
    number = 1
    async with await psycopg.AsyncConnection.connect(plain_url(database_url)) as connection:
        while perf_counter() < until:
            now = datetime.now(UTC)
            async with connection.cursor() as cursor, cursor.copy(_COPY) as copy:
                for _ in range(_BATCH):
                    number += 1
                    row = (
                        reporter.id,
                        number,
                        str(uuid7()),
                        1,
                        number,
                        "agent.tool_completed",
                        _DATA,
                        "agent",
                        now,
                        now,
                    )
                    await copy.write_row(row)
            await connection.commit()
    return number - 1


def _fill(database_url: str, reporter: Reporter, events: int) -> None:
    """Give a sandbox this many events without posting them."""
    with psycopg.connect(plain_url(database_url)) as connection:
        connection.execute(
            "INSERT INTO sandbox_events SELECT %s, n + 1, 'filled-' || n, 1, n, 'agent.message', %s, 'agent', now(),"
            " now() FROM generate_series(1, %s) AS n",
            [reporter.id, _DATA, events],
        )
        connection.execute(
            "UPDATE sandboxes SET last_seq = %s, acked_seq = %s WHERE id = %s", [events + 1, events, reporter.id]
        )


@asynccontextmanager
async def _bench() -> AsyncIterator[Bench]:
    folder = Path(tempfile.mkdtemp(prefix="omoi-bench-", dir="/tmp"))
    api = None
    try:
        url = await embedded.start(folder)
        await upgrade(url)
        api = ApiProcess(folder, url)
        await api.start()
        async with _other("empty", url) as empty_port, _other("usual", url) as usual_port:
            yield Bench(api, empty_port, usual_port, url)
    finally:
        if api is not None:
            api.kill()
        await embedded.stop(folder)
        shutil.rmtree(folder, ignore_errors=True)


@asynccontextmanager
async def _other(kind: str, database_url: str) -> AsyncIterator[int]:
    process = await asyncio.create_subprocess_exec(
        sys.executable, "-m", "benchmarks.peers.other_apis", kind, database_url, stdout=subprocess.PIPE
    )
    try:
        assert process.stdout is not None
        yield int(await process.stdout.readline())
    finally:
        process.kill()
        await process.wait()


def figures(rounds: list[Round]) -> list[Figure]:
    """Return the figures of the rounds."""
    single = [each.single for each in rounds]
    empty = Beside("empty POST, same server", [each.empty for each in rounds])
    usual = Beside("FastAPI + SQLAlchemy", [each.usual for each in rounds])
    copied = Beside("raw COPY", [each.copied for each in rounds])
    few = Beside(f"sandbox of {_FEW} events", [each.few for each in rounds])
    batched = [each.batched for each in rounds]
    slow, fast = [each.slow_p99 for each in rounds], [each.fast_p99 for each in rounds]
    flooded = [each.flooded_p99 for each in rounds]
    return [
        Figure("P5 events one by one", single, empty, goal=0.55, unit="/s", at_least=True),
        Figure("P5 the same", single, usual, goal=12.0, unit="/s", at_least=True),
        Figure("P6 events in batches of 50", batched, copied, goal=0.60, unit="/s", at_least=True),
        Figure("P7 durable ack, 300 events/s, p99", slow, Beside("limit", [10.0] * len(rounds)), goal=1.0),
        Figure("P7 durable ack, 2,000 events/s, p99", fast, Beside("limit", [20.0] * len(rounds)), goal=1.0),
        Figure("35 the same, 300/s, one sandbox floods, p99", flooded, Beside("no flood", slow), goal=2.0),
        Figure(f"P17 an event of a sandbox of {_MANY:,}", [each.many for each in rounds], few, goal=1.2),
    ]
