"""The careful path: what events change besides the log, and events of a spool, which are trusted as little."""

from typing import Any

import pytest
from sqlalchemy import select
from sqlalchemy.ext.asyncio import AsyncSession

from omoi_os.bus.memory import MemoryBus
from omoi_os.errors import StaleFence
from omoi_os.masking import Masker
from omoi_os.protocol.events import Event, EventType
from omoi_os.sandboxes import repository, service
from omoi_os.sandboxes.ingest.careful_path import record_events
from omoi_os.sandboxes.ingest.event_log import BatchResult
from omoi_os.sandboxes.lifecycle import SandboxState
from omoi_os.sandboxes.models import Sandbox
from omoi_os.tasks import service as tasks
from omoi_os.tasks.models import Task
from tests.builders import a_work_sandbox
from tests.conftest import NOON


def said(seq: int | None, event_type: str = EventType.AGENT_MESSAGE, **data: object) -> Event:
    return Event(event_type, dict(data), event_id=f"e{seq}" if seq else None, seq=seq)


async def record(session: AsyncSession, sandbox: Sandbox, *events: Event) -> BatchResult:
    return await record_events(session, MemoryBus(), sandbox.id, events, now=NOON, masker=Masker())


async def listed(session: AsyncSession, sandbox: Sandbox) -> list[tuple[int, str]]:
    events = await repository.list_events(session, sandbox.id, order="asc", limit=100)
    return [(event.seq, event.event_type) for event in events]


async def task_of(session: AsyncSession, sandbox: Sandbox) -> Task:
    return (await session.execute(select(Task).where(Task.id == sandbox.task_id))).scalar_one()


async def test_the_first_event_makes_sandbox_and_task_run(session: AsyncSession) -> None:
    sandbox, _ = await a_work_sandbox(session, MemoryBus(), now=NOON)

    await record(session, sandbox, said(1, EventType.AGENT_STARTED))

    assert (sandbox.status, (await task_of(session, sandbox)).status) == ("running", "running")
    assert await listed(session, sandbox) == [(1, "sandbox.created"), (2, "agent.started")]


async def test_a_rejected_or_repeated_event_changes_no_state(session: AsyncSession) -> None:
    sandbox, _ = await a_work_sandbox(session, MemoryBus(), now=NOON)

    await record(session, sandbox, said(1, "task.verified", verified=True))
    assert (sandbox.status, (await task_of(session, sandbox)).status) == ("creating", "assigned")

    await record(session, sandbox, said(1, "task.verified", verified=True))
    assert (sandbox.status, (await task_of(session, sandbox)).status) == ("creating", "assigned")
    assert sandbox.last_work_at is None


async def test_an_agent_that_reports_completion_only_asks_for_verification(session: AsyncSession) -> None:
    sandbox, _ = await a_work_sandbox(session, MemoryBus(), now=NOON)

    await record(session, sandbox, said(1, EventType.AGENT_COMPLETED, success=True, final_output="C = 1\0"))

    task = await task_of(session, sandbox)
    assert task.status == "verifying"
    assert task.result is not None
    assert (task.result["final_output"], task.result["commit_sha"]) == ("C = 1", None)
    assert (task.result["verdict"], task.result["verified"]) == (None, False)


async def test_every_effect_of_a_batch_is_applied(session: AsyncSession) -> None:
    sandbox, _ = await a_work_sandbox(session, MemoryBus(), now=NOON)

    failed = said(2, EventType.AGENT_FAILED, error="out of budget")
    await record(session, sandbox, said(1), failed, said(3, EventType.AGENT_COMPLETED, success=True))

    assert (sandbox.failure, (await task_of(session, sandbox)).status) == ("out of budget", "verifying")


async def test_the_token_of_an_ended_sandbox_is_stale(session: AsyncSession) -> None:
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


async def test_events_after_a_cancellation_are_stored_without_effect(session: AsyncSession) -> None:
    bus = MemoryBus()
    sandbox, _ = await a_work_sandbox(session, bus, now=NOON)
    await record(session, sandbox, said(1))
    await tasks.cancel_task(session, bus, await task_of(session, sandbox), now=NOON)

    await record(session, sandbox, said(2, EventType.AGENT_COMPLETED, success=True))

    assert (await task_of(session, sandbox)).status == "cancelled"
    assert len(await listed(session, sandbox)) == 3


def deep(levels: int) -> dict[str, Any]:
    value: dict[str, Any] = {}
    for _ in range(levels):
        value = {"v": value}
    return value


async def test_hostile_frames_of_a_spool_are_rejected_and_acknowledged(session: AsyncSession) -> None:
    sandbox, _ = await a_work_sandbox(session, MemoryBus(), now=NOON)
    frames = [
        Event("agent.\0started", {}, seq=1),
        Event("agent.message", {"n": float("nan")}, seq=2),
        Event("agent.message", deep(5_000), seq=3),
        Event("agent.message", {}, event_id=["not", "text"], seq=4),  # type: ignore[arg-type]
        Event("task.verified", {"verified": True}, seq=5),
        Event("agent.message", {}, source="system", seq=6),
        Event("agent.message", {"text": "\ud800"}, seq=7),
        Event("agent.message", {"text": "the last event"}, seq=8),
    ]

    result = await record(session, sandbox, *frames)
    await session.commit()

    assert [rejection.seq for rejection in result.rejected] == [1, 2, 3, 4, 5, 6, 7]
    assert (result.accepted, result.last_seq) == (1, 8)
    events = await repository.list_events(session, sandbox.id, order="asc", limit=20)
    assert [event.event_type for event in events] == ["sandbox.created", *["rejected"] * 7, "agent.message"]
    assert events[-1].event_data == {"text": "the last event"}
