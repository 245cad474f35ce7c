"""Measure a task's database work behind few and behind many finished tasks: P17."""

import asyncio
import shutil
import tempfile
from collections.abc import AsyncIterator
from contextlib import AsyncExitStack, asynccontextmanager
from datetime import UTC, datetime
from pathlib import Path
from statistics import median
from time import perf_counter
from uuid import UUID, uuid4

import psycopg

from benchmarks.figures import Beside, Figure
from omoi_os.bus.memory import MemoryBus
from omoi_os.db import embedded
from omoi_os.db.base import Sessions, make_engine, make_sessions, plain_url
from omoi_os.db.migrate import upgrade
from omoi_os.projects.models import Project
from omoi_os.sandboxes import service as sandboxes
from omoi_os.sandboxes.lifecycle import SandboxState
from omoi_os.tasks import queue as turns
from omoi_os.tasks import service
from tests.builders import a_project, a_task, a_ticket, a_work_sandbox

_FEW, _MANY = 100, 100_000
_LIVES = 60

#: Fills each table with copies of the row of one finished task, under new ids.
_FILL = """
    INSERT INTO {table}
    SELECT copy.*
    FROM {table} AS example, generate_series(1, %(count)s) AS n,
         LATERAL jsonb_populate_record(NULL::{table}, to_jsonb(example) || {own}) AS copy
"""
_OWN = {
    "tickets": "jsonb_build_object('id', md5('ticket' || n)::uuid)",
    "tasks": "jsonb_build_object('id', md5('task' || n)::uuid, 'ticket_id', md5('ticket' || n)::uuid,"
    " 'sandbox_id', 'omoios-' || n, 'branch_name', 'feature/done-' || n)",
    "sandboxes": "jsonb_build_object('id', 'omoios-' || n, 'task_id', md5('task' || n)::uuid,"
    " 'token_hash', md5('' || n))",
}


async def measure(rounds: int) -> list[Figure]:
    """Run every statement from the ticket's row to the completed task."""
    async with AsyncExitStack() as stack:
        few = await stack.enter_async_context(_filled(_FEW))
        many = await stack.enter_async_context(_filled(_MANY))
        found = [(await _round(*few), await _round(*many)) for _ in range(rounds)]
    name = f"P17 a task and its sandbox, behind {_MANY:,}"
    return [
        Figure(name, [late for _, late in found], Beside(f"behind {_FEW}", [early for early, _ in found]), goal=1.2)
    ]


async def _round(sessions: Sessions, project_id: UUID) -> float:
    took = []
    for _ in range(_LIVES):
        began = perf_counter()
        await _live(sessions, project_id)
        took.append((perf_counter() - began) * 1000)
    return median(took)


async def _live(sessions: Sessions, project_id: UUID) -> None:
    """Run each step in its own transaction, as the platform does."""
    bus, now = MemoryBus(), datetime.now(UTC)
    async with sessions.begin() as session:
        project = await session.get_one(Project, project_id)
        task = await a_task(session, bus, await a_ticket(session, project, title=f"Task {uuid4().hex}"))
    async with sessions.begin() as session:
        ready = await turns.ready_tasks(session, now=now, without=set(), limit=5)
        (task,) = [each.task for each in ready if each.task.id == task.id]
        sandbox, _ = await a_work_sandbox(session, bus, task, now=now)
        await sandboxes.mark_started(session, bus, sandbox, provider_ref="here", now=now)
    async with sessions.begin() as session:
        sandbox = await session.get_one(type(sandbox), sandbox.id)
        task = await session.get_one(type(task), task.id)
        await sandboxes.mark_running(session, bus, sandbox, now=now)
        await service.worker_reported(session, bus, task, now=now)
    async with sessions.begin() as session:
        sandbox = await session.get_one(type(sandbox), sandbox.id)
        task = await session.get_one(type(task), task.id)
        await service.agent_says_done(session, bus, task, final_output="done")
        await sandboxes.end(session, bus, sandbox, state=SandboxState.STOPPED, reason="its work is done", now=now)
        await service.complete(session, bus, task, result={"verified": True}, now=now)


@asynccontextmanager
async def _filled(count: int) -> AsyncIterator[tuple[Sessions, UUID]]:
    """Create a database with this many finished tasks, each with its ticket and sandbox."""
    folder = Path(tempfile.mkdtemp(prefix="omoi-pg-", dir="/tmp"))
    try:
        url = await embedded.start(folder)
        await upgrade(url)
        engine = make_engine(url)
        sessions = make_sessions(engine)
        async with sessions.begin() as session:
            project_id = (await a_project(session)).id
        await _live(sessions, project_id)
        await asyncio.to_thread(_fill, plain_url(url), count)
        yield sessions, project_id
        await engine.dispose()
    finally:
        await embedded.stop(folder)
        shutil.rmtree(folder, ignore_errors=True)


def _fill(url: str, count: int) -> None:
    with psycopg.connect(url, autocommit=True) as connection:
        # The copies' references are correct; checking each would take minutes.
        connection.execute("SET session_replication_role = replica")
        for table, own in _OWN.items():
            connection.execute(_FILL.format(table=table, own=own), {"count": count})
        connection.execute("ANALYZE")
