"""Who is stopped: the stuck, the idle, the old and the silent, and nobody who works."""

from datetime import timedelta

import pytest
from sqlalchemy.ext.asyncio import AsyncSession

from omoi_os.bus.memory import MemoryBus
from omoi_os.masking import Masker
from omoi_os.orchestrator.recovery.reaper import Age, is_silent, overdue
from omoi_os.protocol.events import Event, EventType
from omoi_os.sandboxes import service
from omoi_os.sandboxes.ingest.careful_path import record_events
from omoi_os.sandboxes.models import Sandbox
from omoi_os.tasks.models import Task
from tests.builders import a_work_sandbox
from tests.conftest import NOON
from tests.orchestrator.conftest import MakeContext


async def a_running_sandbox(session: AsyncSession) -> tuple[Sandbox, Task]:
    bus = MemoryBus()
    sandbox, _ = await a_work_sandbox(session, bus, now=NOON)
    await service.mark_started(session, bus, sandbox, provider_ref=sandbox.id, now=NOON)
    await beat(session, sandbox, 0, EventType.AGENT_STARTED)
    return sandbox, await session.get_one(Task, sandbox.task_id)


async def beat(
    session: AsyncSession, sandbox: Sandbox, minutes: float, kind: str = EventType.AGENT_HEARTBEAT, **data: object
) -> None:
    event = Event(kind, dict(data))
    now = NOON + timedelta(minutes=minutes)
    await record_events(session, MemoryBus(), sandbox.id, [event], now=now, masker=Masker())


@pytest.mark.parametrize(("minutes", "stopped"), [(14, False), (16, True)])
async def test_a_sandbox_that_says_it_works_and_does_nothing_is_stuck(
    session: AsyncSession, make_context: MakeContext, minutes: int, stopped: bool
) -> None:
    sandbox, task = await a_running_sandbox(session)
    await beat(session, sandbox, minutes - 0.1, status="working")

    reason = overdue(make_context(), sandbox, task, Age.at(sandbox, NOON + timedelta(minutes=minutes)))

    assert (reason is not None) is stopped
    assert reason is None or reason.startswith("stuck")


async def test_a_command_that_runs_for_long_is_work(session: AsyncSession, make_context: MakeContext) -> None:
    sandbox, task = await a_running_sandbox(session)
    for minute in range(0, 41, 5):
        await beat(session, sandbox, minute, status="working", busy=True)

    assert overdue(make_context(), sandbox, task, Age.at(sandbox, NOON + timedelta(minutes=41))) is None


async def test_a_sandbox_whose_work_is_done_may_not_idle(session: AsyncSession, make_context: MakeContext) -> None:
    sandbox, task = await a_running_sandbox(session)
    await beat(session, sandbox, 1, EventType.AGENT_COMPLETED, success=True)

    assert overdue(make_context(), sandbox, task, Age.at(sandbox, NOON + timedelta(minutes=10))) is None
    assert "idle" in str(overdue(make_context(), sandbox, task, Age.at(sandbox, NOON + timedelta(minutes=12))))


async def test_a_sandbox_may_not_outlive_its_lifetime(session: AsyncSession, make_context: MakeContext) -> None:
    sandbox, task = await a_running_sandbox(session)
    await beat(session, sandbox, 60, status="working", busy=True)
    context = make_context(sandbox_lifetime_seconds=3600)

    assert overdue(context, sandbox, task, Age.at(sandbox, NOON + timedelta(minutes=61))) is None
    assert "lifetime" in str(overdue(context, sandbox, task, Age.at(sandbox, NOON + timedelta(minutes=63))))


async def test_silence_is_noticed_after_two_and_a_half_beats(session: AsyncSession, make_context: MakeContext) -> None:
    sandbox, _ = await a_running_sandbox(session)
    await beat(session, sandbox, 1, status="working")
    context = make_context()

    assert not is_silent(context, sandbox, now=NOON + timedelta(minutes=1, seconds=74))
    assert is_silent(context, sandbox, now=NOON + timedelta(minutes=1, seconds=76))


async def test_a_sandbox_whose_events_use_up_its_quota_is_stopped(
    session: AsyncSession, make_context: MakeContext
) -> None:
    sandbox, task = await a_running_sandbox(session)
    context, age = make_context(sandbox_events_mb=1), Age.at(sandbox, NOON)
    assert overdue(context, sandbox, task, age) is None

    sandbox.event_bytes = 1 << 20

    assert "OMOI_SANDBOX_EVENTS_MB" in (overdue(context, sandbox, task, age) or "")
