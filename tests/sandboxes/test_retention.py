"""Retention removes what is old enough, of what has ended, and nothing else."""

from datetime import datetime, timedelta

import pytest
from sqlalchemy import func, select
from sqlalchemy.ext.asyncio import AsyncSession

from omoi_os.bus.memory import MemoryBus
from omoi_os.projects.models import Project
from omoi_os.sandboxes import service
from omoi_os.sandboxes.lifecycle import SandboxState
from omoi_os.sandboxes.models import Sandbox, SandboxEvent
from omoi_os.sandboxes.retention import next_to_prune, prune_one
from omoi_os.tasks import repository as tasks_repository
from omoi_os.tasks import service as tasks
from tests.builders import a_work_sandbox
from tests.conftest import NOON


async def _ended(session: AsyncSession, *, task_too: bool = True) -> Sandbox:
    bus = MemoryBus()
    sandbox, _ = await a_work_sandbox(session, bus, now=NOON)
    await service.end(session, bus, sandbox, state=SandboxState.STOPPED, reason="done", now=NOON)
    if task_too:
        assert sandbox.task_id is not None
        task = await tasks_repository.lock(session, sandbox.task_id)
        await tasks.fail(session, bus, task, reason="enough", now=NOON)
    await session.commit()
    return sandbox


async def _events(session: AsyncSession, sandbox: Sandbox) -> int:
    query = select(func.count()).select_from(SandboxEvent).where(SandboxEvent.sandbox_id == sandbox.id)
    return (await session.execute(query)).scalar_one()


async def _prune(session: AsyncSession, *, now: datetime, default_days: int | None) -> str | None:
    found = await next_to_prune(session, now=now, default_days=default_days)
    if found is not None:
        await prune_one(session, found, now=now)
    return found


async def test_what_is_old_enough_goes_and_its_row_stays(session: AsyncSession) -> None:
    sandbox = await _ended(session)

    early = await _prune(session, now=NOON + timedelta(days=29), default_days=30)
    kept = await _events(session, sandbox)
    late = await _prune(session, now=NOON + timedelta(days=31), default_days=30)

    assert (early, kept > 0, late) == (None, True, sandbox.id)
    assert await _events(session, sandbox) == 0
    await session.refresh(sandbox)
    assert sandbox.pruned_at is not None
    assert sandbox.end_reason == "done"
    assert await _prune(session, now=NOON + timedelta(days=32), default_days=30) is None


@pytest.mark.parametrize(("days", "goes"), [(10, True), (100, False)])
async def test_a_projects_own_word_wins(session: AsyncSession, days: int, *, goes: bool) -> None:
    sandbox = await _ended(session)
    project = await session.get_one(Project, sandbox.project_id)
    project.settings = {**project.settings, "retention_days": days}
    await session.flush()

    pruned = await _prune(session, now=NOON + timedelta(days=40), default_days=30)

    assert (pruned is not None) == goes


async def test_for_ever_is_for_ever(session: AsyncSession) -> None:
    await _ended(session)
    assert await _prune(session, now=NOON + timedelta(days=9999), default_days=None) is None


async def test_the_living_and_those_of_an_open_task_keep_everything(session: AsyncSession) -> None:
    await a_work_sandbox(session, MemoryBus(), now=NOON)
    await _ended(session, task_too=False)
    assert await _prune(session, now=NOON + timedelta(days=9999), default_days=1) is None


@pytest.mark.parametrize("settings", [{"retention_days": "many"}, {"retention_days": {}}, [], "x", None])
async def test_a_project_with_bad_settings_keeps_no_other_from_being_pruned(
    session: AsyncSession, settings: object
) -> None:
    bad, good = await _ended(session), await _ended(session)
    project = await session.get_one(Project, bad.project_id)
    project.settings = settings  # type: ignore[assignment]
    await session.flush()

    pruned = {await _prune(session, now=NOON + timedelta(days=40), default_days=30) for _ in range(3)}

    assert good.id in pruned
