"""Measure reading a trajectory in a table of millions of events: P11."""

import asyncio
import shutil
import tempfile
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from datetime import UTC, datetime
from pathlib import Path
from statistics import median
from time import perf_counter

import psycopg
from sqlalchemy import text
from sqlalchemy.ext.asyncio import AsyncSession

from benchmarks.figures import Beside, Figure
from omoi_os.bus.memory import MemoryBus
from omoi_os.db import embedded
from omoi_os.db.base import Sessions, make_engine, make_sessions, plain_url
from omoi_os.db.migrate import upgrade
from omoi_os.protocol.events import EventType
from omoi_os.sandboxes import repository
from tests.builders import a_work_sandbox

_FEW, _MANY = 100, 100_000
#: The other events of the table, and how many of them each sandbox has.
_ROWS, _EACH = 10_000_000, 10_000
_LOOKS = 200
_PAGE = 50

_FILL = """
    INSERT INTO sandbox_events
        (sandbox_id, seq, event_id, fence, posted_seq, event_type, event_data, source, occurred_at, created_at)
    SELECT %(sandbox)s, n, %(sandbox)s || n, 1, n,
           CASE WHEN n %% 20 = 0 THEN 'agent.heartbeat' ELSE 'agent.tool_completed' END,
           '{"tool": "Bash", "output": "All checks passed."}', 'agent', now(), now()
    FROM generate_series(%(first)s::bigint, %(last)s::bigint) AS n
"""


async def measure(rounds: int, *, rows: int = _ROWS) -> list[Figure]:
    """Measure a page of a long trajectory next to `select 1` and next to a page of a short one."""
    async with _filled(rows) as (sessions, few, many):
        found = [await _round(sessions, few, many) for _ in range(rounds)]
    least, short, long = ([sample[number] for sample in found] for number in range(3))
    name = f"P11 a page of 100,000 events of {rows // 1_000_000} million"
    return [
        Figure(name, long, Beside("select 1", least), goal=6.0),
        Figure("", long, Beside("a page of 100 events", short), goal=1.5),
    ]


async def _round(sessions: Sessions, few: str, many: str) -> tuple[float, float, float]:
    samples: dict[str, list[float]] = {"": [], few: [], many: []}
    async with sessions() as session:
        for _ in range(_LOOKS):
            for sandbox_id, took in samples.items():
                began = perf_counter()
                await _look(session, sandbox_id)
                took.append((perf_counter() - began) * 1000)
    return median(samples[""]), median(samples[few]), median(samples[many])


async def _look(session: AsyncSession, sandbox_id: str) -> None:
    if not sandbox_id:
        await session.execute(text("SELECT 1"))
        return
    await repository.list_events(session, sandbox_id, without=EventType.AGENT_HEARTBEAT, limit=_PAGE)
    session.expunge_all()


@asynccontextmanager
async def _filled(rows: int) -> AsyncIterator[tuple[Sessions, str, str]]:
    folder = Path(tempfile.mkdtemp(prefix="omoi-pg-", dir="/tmp"))
    try:
        url = await embedded.start(folder)
        await upgrade(url)
        engine = make_engine(url)
        sessions = make_sessions(engine)
        few, many = await _sandbox(sessions), await _sandbox(sessions)
        others = [await _sandbox(sessions) for _ in range(max(1, rows // _EACH))]
        await asyncio.to_thread(_fill, plain_url(url), {few: _FEW, many: _MANY} | dict.fromkeys(others, _EACH))
        yield sessions, few, many
        await engine.dispose()
    finally:
        await embedded.stop(folder)
        shutil.rmtree(folder, ignore_errors=True)


async def _sandbox(sessions: Sessions) -> str:
    async with sessions.begin() as session:
        sandbox, _ = await a_work_sandbox(session, MemoryBus(), now=datetime.now(UTC))
    return sandbox.id


def _fill(url: str, counts: dict[str, int]) -> None:
    with psycopg.connect(url, autocommit=True) as connection:
        connection.execute("SET synchronous_commit = off")
        for sandbox_id, count in counts.items():
            connection.execute(_FILL, {"sandbox": sandbox_id, "first": 2, "last": count + 1})
        connection.execute("ANALYZE sandbox_events")
