"""No healthy sandbox is stopped because the API was away or a clock jumped."""

import asyncio
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from dataclasses import replace
from datetime import UTC, datetime, timedelta
from typing import Any

import pytest
from sqlalchemy import text

from omoi_os.bus.memory import MemoryBus
from omoi_os.db.base import Sessions
from omoi_os.db.clock import Clock
from omoi_os.orchestrator.context import Context
from omoi_os.orchestrator.recovery.reaper import ages_of, reap
from omoi_os.sandboxes import service
from omoi_os.sandboxes.lifecycle import SandboxState
from omoi_os.sandboxes.models import Sandbox
from omoi_os.tasks import service as tasks
from omoi_os.tasks.models import Task
from tests.api.test_server import free_port
from tests.builders import a_work_sandbox
from tests.orchestrator.conftest import MakeContext

PATIENCE = 30.0


@asynccontextmanager
async def an_api(port: int) -> AsyncIterator[None]:
    """Something that answers every request with 200."""

    async def answer(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        await reader.readuntil(b"\r\n\r\n")
        writer.write(b"HTTP/1.1 200 OK\r\ncontent-length: 2\r\nconnection: close\r\n\r\n{}")
        await writer.drain()
        writer.close()

    server = await asyncio.start_server(answer, "127.0.0.1", port)
    try:
        yield
    finally:
        server.close()
        await server.wait_closed()


async def a_running_sandbox(sessions: Sessions, context: Context, *, ago: timedelta) -> str:
    """A sandbox of this orchestrator whose last work was so long ago, by the clock that its row is written with."""
    then = datetime.now(UTC) - ago
    bus = MemoryBus()
    async with sessions.begin() as session:
        sandbox, _ = await a_work_sandbox(session, bus, now=then)
        sandbox.site = context.providers.default.site
        await service.mark_started(session, bus, sandbox, provider_ref=sandbox.id, now=then)
        await tasks.worker_reported(session, bus, await session.get_one(Task, sandbox.task_id), now=then)
        sandbox.last_work_at = sandbox.last_heartbeat_at = then
    return sandbox.id


async def status_of(sessions: Sessions, sandbox_id: str) -> str:
    async with sessions() as session:
        return (await session.get_one(Sandbox, sandbox_id)).status


async def _reap(context: Context) -> None:
    context.timers.forget("api")
    await reap(context)
    await context.jobs.finish("", timeout=PATIENCE)


@pytest.mark.parametrize("limit", ["stuck_after_seconds", "sandbox_lifetime_seconds"])
async def test_a_sandbox_is_not_blamed_for_an_outage_of_the_api(
    sessions: Sessions, make_context: MakeContext, limit: str
) -> None:
    settings: dict[str, Any] = {limit: 600}
    context = make_context(port=free_port(), **settings)
    sandbox_id = await a_running_sandbox(sessions, context, ago=timedelta(minutes=20))
    for _ in range(3):
        await _reap(context)
    assert await status_of(sessions, sandbox_id) == SandboxState.RUNNING
    async with an_api(context.settings.port):
        await _reap(context)
        assert await status_of(sessions, sandbox_id) == SandboxState.RUNNING


async def test_a_sandbox_that_does_nothing_while_the_api_answers_is_stuck(
    sessions: Sessions, make_context: MakeContext
) -> None:
    context = make_context(port=free_port(), stuck_after_seconds=0.3)
    sandbox_id = await a_running_sandbox(sessions, context, ago=timedelta(minutes=20))
    async with an_api(context.settings.port), asyncio.timeout(PATIENCE):
        while await status_of(sessions, sandbox_id) == SandboxState.RUNNING:
            await _reap(context)
    assert await status_of(sessions, sandbox_id) == SandboxState.STOPPING


async def test_a_sandbox_is_not_blamed_for_a_gateway_that_takes_no_connection(
    sessions: Sessions, make_context: MakeContext
) -> None:
    context = make_context(port=free_port(), stuck_after_seconds=0.05)
    sandbox_id = await a_running_sandbox(sessions, context, ago=timedelta(minutes=20))
    (context.settings.gateway_sockets_dir / sandbox_id).mkdir(parents=True)
    async with an_api(context.settings.port):
        for _ in range(3):
            await _reap(context)
            await asyncio.sleep(0.1)
    assert await status_of(sessions, sandbox_id) == SandboxState.RUNNING


async def test_the_time_is_that_of_the_database(sessions: Sessions, make_context: MakeContext) -> None:
    wrong = datetime.now(UTC) + timedelta(days=400)
    context = replace(make_context(port=free_port()), clock=Clock(system=lambda: wrong))
    assert context.now() >= wrong
    async with sessions() as session:
        await context.clock.read(session)
        real = (await session.execute(text("SELECT clock_timestamp()"))).scalar_one()
    assert abs(context.now() - real) < timedelta(seconds=PATIENCE)


async def test_a_clock_that_jumps_while_a_sandbox_is_watched_does_not_age_it(
    sessions: Sessions, make_context: MakeContext
) -> None:
    context = make_context()
    sandbox_id = await a_running_sandbox(sessions, context, ago=timedelta(minutes=1))
    async with sessions() as session:
        row = await session.get_one(Sandbox, sandbox_id)
    now = datetime.now(UTC)
    first = ages_of(context, [row], now=now)[sandbox_id]
    after = ages_of(context, [row], now=now + timedelta(days=1))[sandbox_id]
    assert 60 <= first.since_work <= after.since_work < 60 + PATIENCE
    assert 60 <= first.since_created <= after.since_created < 60 + PATIENCE
    row.last_work_at = now + timedelta(hours=23)
    assert ages_of(context, [row], now=now + timedelta(days=1))[sandbox_id].since_work >= 3600
