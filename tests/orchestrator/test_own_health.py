"""One bad row, file or project never stops a turn, and an orchestrator whose turns fail says so."""

import asyncio
import json
import os
import signal
import time
from collections.abc import AsyncIterator, Callable
from datetime import timedelta
from pathlib import Path
from typing import Any

import pytest
from sqlalchemy import text, update
from sqlalchemy.ext.asyncio import AsyncSession

from omoi_os.bus.memory import MemoryBus
from omoi_os.db.base import Sessions
from omoi_os.forges.local.forge import LocalForge
from omoi_os.forges.registry import make_forge
from omoi_os.health import warnings
from omoi_os.orchestrator import main, own_health
from omoi_os.orchestrator.context import Context
from omoi_os.orchestrator.dispatch.dispatcher import claim
from omoi_os.orchestrator.main import turn
from omoi_os.orchestrator.recovery.reaper import reap
from omoi_os.projects.addresses import repository_of
from omoi_os.projects.models import Project
from omoi_os.providers.base import Resources, SandboxRef, SandboxSpec
from omoi_os.providers.local.host.provider import LocalProvider
from omoi_os.sandboxes import service as sandboxes
from omoi_os.sandboxes.lifecycle import SandboxState
from omoi_os.sandboxes.models import Sandbox
from omoi_os.tasks.lifecycle import TaskState
from omoi_os.tasks.models import Task
from tests.builders import a_project, a_task, a_ticket, a_work_sandbox
from tests.orchestrator.conftest import MakeContext

#: Generous: the machine may be busy with other tests.
PATIENCE = 60.0


@pytest.fixture
async def context(make_context: MakeContext, short_tmp: Path) -> AsyncIterator[Context]:
    made = make_context()
    provider = LocalProvider(short_tmp / "sandboxes")
    made.providers.add(provider)
    yield made
    await made.jobs.cancel()
    for place in (short_tmp / "sandboxes").glob("omoios-*"):
        await provider.destroy(SandboxRef(place.name))


async def _running(session: AsyncSession, context: Context) -> Sandbox:
    """A row that runs, with its sandbox at the provider."""
    sandbox, _ = await a_work_sandbox(session, context.bus, now=context.now())
    provider = context.providers.get("local")
    await session.execute(update(Sandbox).where(Sandbox.id == sandbox.id).values(site=provider.site, provider="local"))
    limits = Resources(256 << 20, 1, 64, 64 << 20)
    env = {"PATH": "/usr/bin:/bin"}
    spec = SandboxSpec(sandbox.id, context.installation, ["sleep", "600"], env, limits, timedelta(minutes=5))
    await provider.create(spec)
    await sandboxes.mark_started(session, context.bus, sandbox, provider_ref=sandbox.id, now=context.now())
    await session.commit()
    return sandbox


async def _turns_until(context: Context, condition: Callable[[], Any]) -> None:
    async with asyncio.timeout(PATIENCE):
        while not await condition():
            await turn(context, compares=True)
            await asyncio.sleep(0.05)


async def _read(sessions: Sessions, kind: type, key: object) -> Any:
    async with sessions() as session:
        return await session.get_one(kind, key)


@pytest.mark.parametrize("name", ["spec.json", "state.json", "exit.json"])
async def test_a_sandbox_with_a_damaged_document_is_ended_and_its_task_goes_on(
    session: AsyncSession, sessions: Sessions, context: Context, short_tmp: Path, name: str
) -> None:
    bad, good = await _running(session, context), await _running(session, context)
    folder = short_tmp / "sandboxes" / bad.id
    state = json.loads((folder / "state.json").read_text())
    (folder / name).write_bytes(b"")
    if name != "exit.json":
        # As after a power cut: nothing runs any more.
        os.kill(int(state["supervisor"].split()[0]), signal.SIGKILL)

    async def is_over() -> bool:
        row = await _read(sessions, Sandbox, bad.id)
        return row.status == SandboxState.LOST and not folder.exists()

    await _turns_until(context, is_over)

    row = await _read(sessions, Sandbox, bad.id)
    assert f"{name} is damaged" in row.end_reason
    assert (await _read(sessions, Task, bad.task_id)).status == TaskState.PENDING
    assert (await _read(sessions, Sandbox, good.id)).status == SandboxState.RUNNING
    assert context.health.failing_for() == 0


@pytest.mark.parametrize("settings", [[], "x", {}, {"max_concurrent_tasks": "many"}, {"provider": 3}])
async def test_a_project_with_bad_settings_stops_no_other_project(
    session: AsyncSession, make_context: MakeContext, settings: object
) -> None:
    bad = await a_project(session)
    await a_task(session, MemoryBus(), await a_ticket(session, bad, title="bad", priority="CRITICAL"))
    await session.execute(update(Project).where(Project.id == bad.id).values(settings=settings))
    await a_task(session, MemoryBus(), await a_ticket(session, title="good"))
    await session.commit()

    assert "good" in [work.task.title for work in await claim(make_context())]


async def test_a_row_that_cannot_be_read_stops_no_other_row(
    session: AsyncSession, sessions: Sessions, context: Context, short_tmp: Path
) -> None:
    bad, good = await _running(session, context), await _running(session, context)
    # No datetime of ours can hold this.
    await session.execute(text("UPDATE sandboxes SET started_at = 'infinity' WHERE id = :id"), {"id": bad.id})
    await session.commit()
    state = json.loads((short_tmp / "sandboxes" / good.id / "state.json").read_text())
    os.kill(int(state["supervisor"].split()[0]), signal.SIGKILL)

    async def is_over() -> bool:
        return bool((await _read(sessions, Sandbox, good.id)).status == SandboxState.LOST)

    await _turns_until(context, is_over)
    await reap(context)

    assert (await _read(sessions, Task, good.task_id)).status == TaskState.PENDING
    assert (short_tmp / "sandboxes" / bad.id).exists()


async def test_one_step_that_fails_keeps_no_other_from_being_taken(
    context: Context, monkeypatch: pytest.MonkeyPatch
) -> None:
    taken: list[str] = []

    def step(name: str, *, fails: bool = False) -> None:
        async def take(_: Context) -> None:
            taken.append(name)
            if fails:
                raise RuntimeError("it cannot be")

        take.__name__ = name
        monkeypatch.setattr(main, name, take)

    names = ["dispatch", "verify", "reconcile", "reap", "refill", "prune"]
    for name in names:
        step(name, fails=name != "prune")

    await turn(context, compares=True)

    assert taken == names


async def test_an_orchestrator_whose_turns_fail_says_so_and_takes_it_back(
    context: Context, sessions: Sessions, monkeypatch: pytest.MonkeyPatch
) -> None:
    data_dir = context.settings.data_dir
    monkeypatch.setattr(own_health, "PUBLISH_SECONDS", 0.0)
    monkeypatch.setattr(own_health, "FAILING_SECONDS", 0.0)
    broken = True

    async def dispatch(_: Context) -> None:
        if broken:
            raise RuntimeError("the queue is on fire")

    monkeypatch.setattr(main, "dispatch", dispatch)

    async def named() -> list[str]:
        async with sessions() as session:
            return [f"{one.key}: {one.message}" for one in await warnings.current(session, now=context.now())]

    assert own_health.check(data_dir) == ["no orchestrator runs in this data folder"]
    await turn(context, compares=True)
    (complaint,) = own_health.check(data_dir)
    assert "the queue is on fire" in complaint
    assert any(one.startswith("orchestrator_failing") and "the queue is on fire" in one for one in await named())

    broken = False
    await turn(context, compares=True)
    assert own_health.check(data_dir) == []
    assert [one for one in await named() if one.startswith("orchestrator_failing")] == []

    own_health.forget(data_dir)
    assert own_health.check(data_dir) == ["no orchestrator runs in this data folder"]


async def test_an_orchestrator_that_hangs_is_not_healthy(context: Context, monkeypatch: pytest.MonkeyPatch) -> None:
    await turn(context, compares=True)
    assert own_health.check(context.settings.data_dir) == []
    later = time.time() + 3600
    monkeypatch.setattr(time, "time", lambda: later)

    (complaint,) = own_health.check(context.settings.data_dir)

    assert "has not finished a turn" in complaint


async def test_a_damaged_repository_fails_its_task_once_and_is_named(
    session: AsyncSession, sessions: Sessions, context: Context
) -> None:
    project = await a_project(session)
    task = await a_task(session, MemoryBus(), await a_ticket(session, project))
    await session.commit()
    forge = make_forge("local", context.settings)
    await forge.ensure_repository(repository_of(project))
    assert isinstance(forge, LocalForge)
    (forge.path(repository_of(project)) / "refs" / "heads" / "main").write_bytes(b"")

    async def is_over() -> bool:
        return bool((await _read(sessions, Task, task.id)).status == TaskState.FAILED)

    await _turns_until(context, is_over)

    found = await _read(sessions, Task, task.id)
    assert "refs/heads/main is empty or incomplete" in found.error
    assert found.attempt == 1
    async with sessions() as reading:
        (warning,) = await warnings.current(reading, now=context.now())
    assert (warning.key, "refs/heads/main" in warning.message) == ("repository_damaged", True)
