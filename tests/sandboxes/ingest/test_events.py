"""Events: stored once, numbered densely, and never believed further than they go."""

from typing import Any

import pytest
from sqlalchemy import select
from sqlalchemy.ext.asyncio import AsyncSession

from omoi_os.bus.memory import MemoryBus
from omoi_os.errors import StaleFence
from omoi_os.masking import Masker
from omoi_os.protocol.events import Event, EventType
from omoi_os.sandboxes import repository, service
from omoi_os.sandboxes.ingest.events import REJECTED, Recorded, record_events
from omoi_os.sandboxes.lifecycle import SandboxState
from omoi_os.sandboxes.models import Sandbox, SandboxEvent
from omoi_os.tasks import service as tasks
from omoi_os.tasks.models import Task
from tests.builders import a_work_sandbox
from tests.conftest import NOON

SECRET = "sk-super-secret-value"


def said(seq: int | None, event_type: str = EventType.AGENT_MESSAGE, **data: object) -> Event:
    return Event(event_type, dict(data), event_id=f"e{seq}" if seq else None, seq=seq)


async def record(session: AsyncSession, sandbox: Sandbox, *events: Event) -> Recorded:
    return await record_events(session, MemoryBus(), sandbox, events, now=NOON, masker=Masker([SECRET]))


async def listed(session: AsyncSession, sandbox: Sandbox) -> list[tuple[int, str]]:
    events = await repository.list_events(session, sandbox.id, order="asc", limit=100)
    return [(event.seq, event.event_type) for event in events]


async def task_of(session: AsyncSession, sandbox: Sandbox) -> Task:
    return (await session.execute(select(Task).where(Task.id == sandbox.task_id))).scalar_one()


async def test_a_resent_batch_is_stored_once(session: AsyncSession) -> None:
    sandbox, _ = await a_work_sandbox(session, MemoryBus(), now=NOON)
    batch = [said(1, EventType.AGENT_STARTED), said(2)]

    await record(session, sandbox, *batch)
    again = await record(session, sandbox, *batch)

    assert (again.accepted, again.duplicates, again.last_seq) == (0, 2, 2)
    assert await listed(session, sandbox) == [(1, "sandbox.created"), (2, "agent.started"), (3, "agent.message")]


async def test_beyond_a_gap_nothing_is_stored(session: AsyncSession) -> None:
    sandbox, _ = await a_work_sandbox(session, MemoryBus(), now=NOON)

    first = await record(session, sandbox, said(1), said(3), said(4))
    second = await record(session, sandbox, said(2), said(3), said(4))

    assert (first.accepted, first.last_seq) == (1, 1)
    assert (second.accepted, second.last_seq) == (3, 4)
    assert [seq for seq, _ in await listed(session, sandbox)] == [1, 2, 3, 4, 5]


async def test_what_only_the_platform_may_say_leaves_a_stub(session: AsyncSession) -> None:
    sandbox, _ = await a_work_sandbox(session, MemoryBus(), now=NOON)

    recorded = await record(session, sandbox, said(1, "task.verified", verified=True), said(2))

    assert [(r.seq, r.reason) for r in recorded.rejected] == [(1, "task.verified events come from the platform only")]
    assert (recorded.accepted, recorded.last_seq) == (1, 2)
    assert (await listed(session, sandbox))[1] == (2, REJECTED)


async def test_the_first_event_makes_sandbox_and_task_run(session: AsyncSession) -> None:
    sandbox, _ = await a_work_sandbox(session, MemoryBus(), now=NOON)

    await record(session, sandbox, said(1, EventType.AGENT_STARTED))

    assert (sandbox.status, (await task_of(session, sandbox)).status) == ("running", "running")


async def test_the_agents_word_only_asks_for_verification(session: AsyncSession) -> None:
    sandbox, _ = await a_work_sandbox(session, MemoryBus(), now=NOON)

    await record(session, sandbox, said(1, EventType.AGENT_COMPLETED, success=True, final_output="C = 1\0\ud800"))

    task = await task_of(session, sandbox)
    assert task.status == "verifying"
    assert task.result is not None
    assert (task.result["final_output"], task.result["commit_sha"]) == ("C = 1?", None)
    assert (task.result["verdict"], task.result["verified"]) == (None, False)


async def test_an_ended_sandbox_says_nothing_more(session: AsyncSession) -> None:
    bus = MemoryBus()
    sandbox, token = await a_work_sandbox(session, bus, now=NOON)
    await service.end(session, bus, sandbox, state=SandboxState.LOST, reason="gone", now=NOON)

    with pytest.raises(StaleFence):
        await record(session, sandbox, said(1))
    with pytest.raises(StaleFence):
        await service.identify(session, token)


async def test_a_superseded_sandbox_has_no_effect(session: AsyncSession) -> None:
    sandbox, _ = await a_work_sandbox(session, MemoryBus(), now=NOON)
    task = await task_of(session, sandbox)
    task.fence += 1
    await session.flush()

    with pytest.raises(StaleFence, match="superseded"):
        await record(session, sandbox, said(1, EventType.AGENT_COMPLETED, success=True))
    assert task.status == "assigned"


async def test_heartbeats_have_no_number_and_are_not_work(session: AsyncSession) -> None:
    sandbox, _ = await a_work_sandbox(session, MemoryBus(), now=NOON)

    recorded = await record(session, sandbox, said(None, EventType.AGENT_HEARTBEAT, status="working"))

    assert (recorded.accepted, recorded.last_seq) == (1, 0)
    assert (sandbox.last_heartbeat_at, sandbox.last_work_at) == (NOON, None)


async def test_secrets_and_poison_are_stored_harmlessly(session: AsyncSession) -> None:
    sandbox, token = await a_work_sandbox(session, MemoryBus(), now=NOON)
    data: dict[str, Any] = {"output": f"key={SECRET} {token}", "nul": "a\0b", "lone": "\ud800", f"k{SECRET}": [SECRET]}

    await record(session, sandbox, Event(EventType.AGENT_MESSAGE, data, event_id="e1", seq=1))
    await session.commit()

    stored = (await session.execute(select(SandboxEvent).where(SandboxEvent.event_id == "e1"))).scalar_one()
    await session.refresh(stored)
    assert stored.event_data == {
        "output": "key=[masked] [masked]",
        "nul": "a\0b",
        "lone": "\ud800",
        "k[masked]": ["[masked]"],
    }


async def test_cancelling_during_the_run_keeps_later_events_without_effect(session: AsyncSession) -> None:
    bus = MemoryBus()
    sandbox, _ = await a_work_sandbox(session, bus, now=NOON)
    await record(session, sandbox, said(1))
    await tasks.cancel_task(session, bus, await task_of(session, sandbox), now=NOON)

    await record(session, sandbox, said(2, EventType.AGENT_COMPLETED, success=True))

    assert (await task_of(session, sandbox)).status == "cancelled"
    assert len(await listed(session, sandbox)) == 3
