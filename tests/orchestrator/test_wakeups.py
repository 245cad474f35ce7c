"""The orchestrators are woken by what they can act on, and not by what only a sandbox continues."""

import asyncio
from datetime import timedelta

import pytest
from sqlalchemy.ext.asyncio import AsyncSession

from omoi_os.bus.base import Topic
from omoi_os.bus.memory import MemoryBus
from omoi_os.sandboxes import service as sandboxes
from omoi_os.sandboxes.lifecycle import SandboxState, StopCause
from omoi_os.tasks import service as tasks
from omoi_os.tasks.lifecycle import EndCause
from omoi_os.tasks.models import Task
from tests.builders import a_task, a_ticket, a_work_sandbox
from tests.conftest import NOON


async def is_woken(bus: MemoryBus, session: AsyncSession) -> bool:
    """Commit, and return whether that woke the orchestrators."""
    async with bus.listen(Topic.WORK) as wakeups:
        assert (await anext(wakeups)).resync
        await session.commit()
        try:
            await asyncio.wait_for(anext(wakeups), 0.05)
        except TimeoutError:
            return False
        return True


async def test_a_new_task_wakes_them_and_its_attempt_does_not(session: AsyncSession) -> None:
    bus = MemoryBus()
    task = await a_task(session, bus, await a_ticket(session))
    assert await is_woken(bus, session)

    sandbox, _ = await a_work_sandbox(session, bus, task, now=NOON)
    assert not await is_woken(bus, session)

    await sandboxes.mark_started(session, bus, sandbox, provider_ref="ref", now=NOON)
    await tasks.worker_reported(session, bus, task, now=NOON)
    assert not await is_woken(bus, session)


@pytest.mark.parametrize("change", ["stop", "end", "give back", "cancel"])
async def test_the_end_of_an_attempt_wakes_them(session: AsyncSession, change: str) -> None:
    bus = MemoryBus()
    sandbox, _ = await a_work_sandbox(session, bus, now=NOON)
    await session.commit()
    task = await session.get_one(Task, sandbox.task_id)
    if change == "stop":
        await sandboxes.request_stop(session, bus, sandbox, cause=StopCause.PERSON, reason="stop")
    elif change == "end":
        await sandboxes.end(session, bus, sandbox, state=SandboxState.LOST, reason="gone", now=NOON)
    elif change == "give back":
        await tasks.give_back(session, bus, task, cause=EndCause.WORK, reason="x", backoff=timedelta(0), now=NOON)
    else:
        await tasks.cancel_task(session, bus, task, now=NOON)
    assert await is_woken(bus, session)
