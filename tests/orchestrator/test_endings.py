"""What follows when a sandbox is over."""

from datetime import timedelta

import pytest
from sqlalchemy.ext.asyncio import AsyncSession

from omoi_os.bus.memory import MemoryBus
from omoi_os.orchestrator import endings
from omoi_os.protocol.events import Event, EventType
from omoi_os.providers.base import EndReason, SandboxReport
from omoi_os.sandboxes import repository as sandboxes_repository
from omoi_os.sandboxes import service as sandboxes
from omoi_os.sandboxes.events import record_events
from omoi_os.sandboxes.masking import Masker
from omoi_os.sandboxes.models import Sandbox
from omoi_os.tasks import service as tasks
from omoi_os.tasks.lifecycle import TaskState
from omoi_os.tasks.models import Task
from tests.builders import a_work_sandbox
from tests.conftest import NOON
from tests.orchestrator.conftest import MakeContext


async def a_sandbox_that_said(session: AsyncSession, *kinds: str) -> tuple[Sandbox, Task]:
    bus = MemoryBus()
    sandbox, _ = await a_work_sandbox(session, bus, now=NOON)
    await sandboxes.mark_started(session, bus, sandbox, provider_ref=sandbox.id, now=NOON)
    events = [Event(kind, {}) for kind in kinds]
    await record_events(session, bus, sandbox, events, now=NOON, masker=Masker())
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
        session, MemoryBus(), task, reason="no commit was pushed", backoff=timedelta(seconds=5), now=NOON
    )
    await session.commit()

    report = SandboxReport(alive=False, reason=EndReason.EXITED, exit_code=0)
    await endings.settle(make_context(), sandbox, None, report)

    async with make_context().sessions() as after:
        ended = await sandboxes_repository.get(after, sandbox.id)
        given_back = await after.get_one(Task, task.id)
    assert ended is not None
    assert ended.status == status
    assert (given_back.status, given_back.attempt, given_back.error) == (TaskState.PENDING, 2, "no commit was pushed")
