"""What follows when a sandbox is over."""

from datetime import timedelta

import pytest
from sqlalchemy.ext.asyncio import AsyncSession

from omoi_os.bus.memory import MemoryBus
from omoi_os.masking import Masker
from omoi_os.orchestrator.dispatch.dispatcher import claim
from omoi_os.orchestrator.recovery import teardown
from omoi_os.protocol.events import Event, EventType
from omoi_os.providers.base import EndReason, SandboxReport
from omoi_os.sandboxes import repository as sandboxes_repository
from omoi_os.sandboxes import service as sandboxes
from omoi_os.sandboxes.ingest.careful_path import record_events
from omoi_os.sandboxes.models import Sandbox
from omoi_os.tasks import service as tasks
from omoi_os.tasks.lifecycle import EndCause, TaskState
from omoi_os.tasks.models import Task
from tests.builders import a_task, a_work_sandbox
from tests.conftest import NOON
from tests.orchestrator.conftest import MakeContext


async def a_sandbox_that_said(session: AsyncSession, *kinds: str) -> tuple[Sandbox, Task]:
    bus = MemoryBus()
    sandbox, _ = await a_work_sandbox(session, bus, now=NOON)
    await sandboxes.mark_started(session, bus, sandbox, provider_ref=sandbox.id, now=NOON)
    events = [Event(kind, {}) for kind in kinds]
    await record_events(session, bus, sandbox.id, events, now=NOON, masker=Masker())
    return sandbox, await session.get_one(Task, sandbox.task_id)


@pytest.mark.parametrize(
    ("said", "status"),
    [((EventType.AGENT_STARTED, EventType.AGENT_COMPLETED), "stopped"), ((EventType.AGENT_STARTED,), "lost")],
)
async def test_a_worker_that_said_it_was_done_is_not_lost_when_its_result_was_refused_before_it_was_gone(
    session: AsyncSession, make_context: MakeContext, said: tuple[str, ...], status: str
) -> None:
    sandbox, task = await a_sandbox_that_said(session, *said)
    await tasks.give_back(
        session,
        MemoryBus(),
        task,
        cause=EndCause.WORK,
        reason="no commit was pushed",
        backoff=timedelta(seconds=5),
        now=NOON,
    )
    await session.commit()

    report = SandboxReport(alive=False, reason=EndReason.EXITED, exit_code=0)
    await teardown.finish(make_context(), sandbox, None, report)

    async with make_context().sessions() as after:
        ended = await sandboxes_repository.get(after, sandbox.id)
        given_back = await after.get_one(Task, task.id)
    assert ended is not None
    assert ended.status == status
    assert (given_back.status, given_back.attempt, given_back.error) == (TaskState.PENDING, 2, "no commit was pushed")


async def test_six_deaths_of_the_orchestrator_while_it_creates_the_sandbox_use_up_no_attempt(
    session: AsyncSession, make_context: MakeContext
) -> None:
    context = make_context(retry_backoff_seconds=0)
    task = await a_task(session, MemoryBus(), max_attempts=3)
    await session.commit()

    for number in range(1, 7):
        # Each one is claimed by an orchestrator that dies before the sandbox is there; the next one finds nothing.
        (work,) = await claim(context)
        assert (work.task.id, work.sandbox.attempt) == (task.id, number)
        await teardown.finish(context, work.sandbox, None, teardown.GONE)

    await session.refresh(task)
    assert (task.status, task.attempt, task.max_attempts) == ("pending", 7, 9)
    assert task.error == "the sandbox disappeared"


async def test_a_crash_loop_of_the_work_ends_after_its_attempts(
    session: AsyncSession, make_context: MakeContext
) -> None:
    context = make_context(retry_backoff_seconds=0)
    task = await a_task(session, MemoryBus(), max_attempts=3)
    await session.commit()

    spawned = 0
    while claimed := await claim(context):
        spawned += 1
        report = SandboxReport(alive=False, reason=EndReason.EXITED, exit_code=1)
        await teardown.finish(context, claimed[0].sandbox, None, report)

    await session.refresh(task)
    assert (spawned, task.status, task.max_attempts) == (3, "failed", 3)
    assert (task.error or "").endswith("(attempt 3 of 3)")
