"""Tasks of a machine that no orchestrator serves are retried elsewhere."""

import asyncio
from datetime import UTC, datetime, timedelta

import pytest

from omoi_os.bus.memory import MemoryBus
from omoi_os.db.base import Sessions, plain_url
from omoi_os.health import warnings
from omoi_os.health.orchestrator_presence import presence
from omoi_os.orchestrator.context import Context
from omoi_os.orchestrator.recovery.unreachable_sandboxes import attend_sites
from omoi_os.sandboxes import service, site_owners
from omoi_os.sandboxes.lifecycle import SalvageState, SandboxState, StopCause
from omoi_os.sandboxes.models import Sandbox, SandboxSalvage, Site
from omoi_os.tasks import service as tasks
from omoi_os.tasks.lifecycle import TaskState
from omoi_os.tasks.models import Task
from tests.builders import a_work_sandbox
from tests.conftest import NOON
from tests.orchestrator.conftest import MakeContext

PATIENCE = 30.0
ELSEWHERE = "0123456789abcdef"


async def a_sandbox_elsewhere(sessions: Sessions) -> tuple[str, Task]:
    bus = MemoryBus()
    async with sessions.begin() as session:
        sandbox, _ = await a_work_sandbox(session, bus, now=NOON)
        sandbox.site = ELSEWHERE
        task = await session.get_one(Task, sandbox.task_id)
        await service.mark_started(session, bus, sandbox, provider_ref=sandbox.id, now=NOON)
        await tasks.worker_reported(session, bus, task, now=NOON)
    return sandbox.id, task


async def _served(sessions: Sessions, owner: int, *, host: str = "their-host") -> None:
    async with sessions.begin() as session:
        await site_owners.serve(session, [ELSEWHERE], owner=owner)
        (await session.get_one(Site, ELSEWHERE)).host = host


async def _attend(context: Context) -> None:
    await attend_sites(context)
    await context.jobs.finish("", timeout=PATIENCE)


async def _look(sessions: Sessions, sandbox_id: str) -> tuple[Sandbox, Task]:
    async with sessions() as session:
        sandbox = await session.get_one(Sandbox, sandbox_id)
        return sandbox, await session.get_one(Task, sandbox.task_id)


async def _warnings(sessions: Sessions) -> list[str]:
    async with sessions() as session:
        return [each.message for each in await warnings.current(session, now=datetime.now(UTC))]


async def _until_ended(context: Context, sandbox_id: str) -> tuple[Sandbox, Task]:
    async with asyncio.timeout(PATIENCE):
        while True:
            await _attend(context)
            sandbox, task = await _look(context.sessions, sandbox_id)
            if sandbox.ended_at is not None:
                return sandbox, task


@pytest.mark.parametrize("was_served", [True, False])
async def test_a_task_of_a_site_that_nobody_serves_is_tried_again_at_no_attempts_cost(
    sessions: Sessions, make_context: MakeContext, was_served: bool
) -> None:
    context = make_context(site_lost_after_seconds=0.2)
    sandbox_id, before = await a_sandbox_elsewhere(sessions)
    if was_served:
        await _served(sessions, owner=77)

    sandbox, task = await _until_ended(context, sandbox_id)

    assert sandbox.status == SandboxState.LOST
    assert "no orchestrator has served its data folder" in str(sandbox.end_reason)
    assert ("their-host" in str(sandbox.end_reason)) is was_served
    assert (task.status, task.attempt) == (TaskState.PENDING, before.attempt + 1)
    assert task.max_attempts == before.max_attempts + 1
    async with sessions() as session:
        # Should that machine come back, what was not pushed is saved before its disk is removed.
        assert (await session.get_one(SandboxSalvage, sandbox_id)).state == SalvageState.KEPT


async def test_a_site_with_an_orchestrator_that_lives_is_left_alone(
    sessions: Sessions, make_context: MakeContext, database_url: str
) -> None:
    context = make_context(site_lost_after_seconds=0.001)
    sandbox_id, _ = await a_sandbox_elsewhere(sessions)
    async with presence(plain_url(database_url)) as owner:
        await _served(sessions, owner)
        for _ in range(3):
            await _attend(context)
            await asyncio.sleep(0.01)
        assert (await _look(sessions, sandbox_id))[0].status == SandboxState.RUNNING
        assert await _warnings(sessions) == []
    await attend_sites(context)
    assert ["their-host" in each for each in await _warnings(sessions)] == [True]
    assert (await _until_ended(context, sandbox_id))[0].status == SandboxState.LOST
    await _attend(context)
    assert await _warnings(sessions) == []


async def test_a_site_gets_its_time_after_a_restart_of_everything(
    sessions: Sessions, make_context: MakeContext
) -> None:
    sandbox_id, _ = await a_sandbox_elsewhere(sessions)
    await _served(sessions, owner=77)
    async with sessions.begin() as session:
        site = await session.get_one(Site, ELSEWHERE)
        site.last_served_at -= timedelta(days=1)
    await _attend(make_context(site_lost_after_seconds=60))
    assert (await _look(sessions, sandbox_id))[0].status == SandboxState.RUNNING


@pytest.mark.parametrize("how", ["cancelled", "deleted"])
async def test_cancel_and_cleanup_end_what_nobody_serves(
    sessions: Sessions, make_context: MakeContext, monkeypatch: pytest.MonkeyPatch, how: str
) -> None:
    monkeypatch.setattr("omoi_os.orchestrator.recovery.unreachable_sandboxes.OVER_SECONDS", 0.2)
    context = make_context(site_lost_after_seconds=3600)
    sandbox_id, task = await a_sandbox_elsewhere(sessions)
    async with sessions.begin() as session:
        if how == "cancelled":
            await tasks.cancel_task(session, MemoryBus(), task, now=NOON)
        else:
            row = await session.get_one(Sandbox, sandbox_id)
            await service.request_stop(session, MemoryBus(), row, cause=StopCause.PERSON, reason="terminated by ada")

    sandbox, task = await _until_ended(context, sandbox_id)

    assert sandbox.ended_at is not None
    assert task.status == (TaskState.CANCELLED if how == "cancelled" else TaskState.FAILED)
