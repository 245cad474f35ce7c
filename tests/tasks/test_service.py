"""What happens to tasks."""

import asyncio
from datetime import timedelta

import pytest
from sqlalchemy import text
from sqlalchemy.ext.asyncio import AsyncSession

from omoi_os.bus.memory import MemoryBus
from omoi_os.db.base import Sessions
from omoi_os.errors import Conflict
from omoi_os.tasks import queue as turns
from omoi_os.tasks import service
from omoi_os.tasks.lifecycle import EndCause, TaskState
from omoi_os.tasks.models import Task
from omoi_os.tickets.models import Ticket, TicketStatus
from tests.builders import a_project, a_task, a_ticket
from tests.conftest import NOON

BACKOFF = timedelta(seconds=5)


async def running(session: AsyncSession, bus: MemoryBus, task: Task) -> Task:
    await service.assign(session, bus, task, lease_owner=1, until=NOON)
    await service.worker_reported(session, bus, task, now=NOON)
    return task


async def test_a_taken_branch_name_gets_a_number(session: AsyncSession) -> None:
    bus = MemoryBus()
    project = await a_project(session)
    names = [
        (await a_task(session, bus, await a_ticket(session, project, title="Add a page"))).branch_name for _ in range(3)
    ]

    assert names == ["feature/add-a-page", "feature/add-a-page-2", "feature/add-a-page-3"]


async def test_hostile_titles_make_harmless_branch_names(session: AsyncSession) -> None:
    bus = MemoryBus()
    project = await a_project(session)
    titles = ['$(touch /tmp/pwned)"; rm -rf /', "--upload-pack=x", "a\nb", "../../x", "日本", "x" * 400]
    names = [(await a_task(session, bus, await a_ticket(session, project, title=t))).branch_name or "" for t in titles]

    assert names[:5] == [
        "feature/touch-tmp-pwned-rm-rf",
        "feature/upload-pack-x",
        "feature/a-b",
        "feature/x",
        "feature/task",
    ]
    assert len(names[5]) <= 80


async def test_a_task_waits_for_what_it_depends_on(session: AsyncSession) -> None:
    bus = MemoryBus()
    ticket = await a_ticket(session)
    first = await a_task(session, bus, ticket)
    second = await a_task(session, bus, ticket, depends_on=[first.id])
    assert second.status == TaskState.BLOCKED

    await running(session, bus, first)
    await service.agent_says_done(session, bus, first, final_output="done")
    await service.complete(session, bus, first, result={"verified": True}, now=NOON)

    assert second.status == TaskState.PENDING


async def test_attempts_back_off_then_run_out(session: AsyncSession) -> None:
    bus = MemoryBus()
    task = await a_task(session, bus, max_attempts=3)
    waits = []
    for _ in range(2):
        await running(session, bus, task)
        await service.give_back(session, bus, task, cause=EndCause.WORK, reason="it broke", backoff=BACKOFF, now=NOON)
        assert task.not_before is not None
        waits.append((task.not_before - NOON, task.attempt, task.status, task.sandbox_id))
    await running(session, bus, task)
    await service.give_back(session, bus, task, cause=EndCause.WORK, reason="it broke", backoff=BACKOFF, now=NOON)

    assert waits == [(BACKOFF, 2, "pending", None), (2 * BACKOFF, 3, "pending", None)]
    assert (task.status, task.error) == ("failed", "it broke (attempt 3 of 3)")


async def test_ends_caused_by_the_platform_use_up_no_attempts(session: AsyncSession) -> None:
    bus = MemoryBus()
    task = await a_task(session, bus, max_attempts=2)
    waits = []
    for _ in range(8):
        await running(session, bus, task)
        await service.give_back(session, bus, task, cause=EndCause.PLATFORM, reason="killed", backoff=BACKOFF, now=NOON)
        assert task.not_before is not None
        waits.append(task.not_before - NOON)

    assert (task.status, task.attempt, task.max_attempts) == ("pending", 9, 10)
    assert waits[:3] == [BACKOFF, 2 * BACKOFF, 4 * BACKOFF]
    assert waits[-1] == service.MAX_BACKOFF

    # The work still has as many attempts as before, and its back-off starts again.
    await running(session, bus, task)
    await service.give_back(session, bus, task, cause=EndCause.WORK, reason="it broke", backoff=BACKOFF, now=NOON)
    assert (task.status, task.not_before) == ("pending", NOON + BACKOFF)
    await running(session, bus, task)
    await service.give_back(session, bus, task, cause=EndCause.WORK, reason="it broke", backoff=BACKOFF, now=NOON)
    assert (task.status, task.error) == ("failed", "it broke (attempt 10 of 10)")


async def test_a_platform_that_fails_for_ever_fails_the_task_with_a_reason(session: AsyncSession) -> None:
    bus = MemoryBus()
    task = await a_task(session, bus, max_attempts=3)
    spawns = 0
    while task.status != TaskState.FAILED:
        await running(session, bus, task)
        spawns += 1
        await service.give_back(
            session, bus, task, cause=EndCause.PLATFORM, reason="no disk", backoff=BACKOFF, now=NOON
        )

    assert spawns == service.MAX_PLATFORM_ENDS + 1
    assert "no disk (the platform or the host ended 21 attempts" in (task.error or "")

    await service.retry_task(session, bus, task, now=NOON)
    await running(session, bus, task)
    await service.give_back(session, bus, task, cause=EndCause.PLATFORM, reason="no disk", backoff=BACKOFF, now=NOON)
    assert task.status == TaskState.PENDING


async def test_a_retry_keeps_the_branch_and_carries_the_message(session: AsyncSession) -> None:
    bus = MemoryBus()
    task = await a_task(session, bus)
    branch = task.branch_name
    await running(session, bus, task)
    await service.fail(session, bus, task, reason="no key", now=NOON)

    await service.retry_task(session, bus, task, now=NOON, message="the key is set now")

    assert (task.status, task.branch_name, task.attempt, task.error) == ("pending", branch, 2, None)
    assert task.feedback == "the key is set now"


async def test_only_a_failed_task_can_be_retried(session: AsyncSession) -> None:
    bus = MemoryBus()
    task = await a_task(session, bus)

    with pytest.raises(Conflict, match="only a failed task can be retried"):
        await service.retry_task(session, bus, task, now=NOON)


async def test_a_cancelled_task_stays_cancelled(session: AsyncSession) -> None:
    bus = MemoryBus()
    task = await a_task(session, bus)
    await service.cancel_task(session, bus, task, now=NOON)

    with pytest.raises(Conflict, match="already cancelled"):
        await service.cancel_task(session, bus, task, now=NOON)
    with pytest.raises(Conflict):
        await service.assign(session, bus, task, lease_owner=1, until=NOON)


async def test_the_ticket_follows_its_task(session: AsyncSession) -> None:
    bus = MemoryBus()
    ticket = await a_ticket(session)
    task = await a_task(session, bus, ticket)
    seen = [ticket.status]

    async def note() -> None:
        await session.flush()
        seen.append((await session.get_one(Ticket, ticket.id, populate_existing=True)).status)

    await service.assign(session, bus, task, lease_owner=1, until=NOON)
    await note()
    await service.worker_reported(session, bus, task, now=NOON)
    await service.agent_says_done(session, bus, task, final_output="")
    await note()
    await service.complete(session, bus, task, result={"verified": True}, now=NOON)
    await note()

    assert seen == [TicketStatus.BACKLOG, TicketStatus.BUILDING, TicketStatus.TESTING, TicketStatus.DONE]


async def test_an_agents_word_is_ignored_once_its_task_is_over(session: AsyncSession) -> None:
    bus = MemoryBus()
    task = await running(session, bus, await a_task(session, bus))
    await service.cancel_task(session, bus, task, now=NOON)

    await service.agent_says_done(session, bus, task, final_output="I am done")

    assert (task.status, task.result) == ("cancelled", None)


async def test_a_new_task_and_a_claim_of_the_same_ticket_do_not_wait_for_each_other(sessions: Sessions) -> None:
    bus = MemoryBus()
    async with sessions() as session, session.begin():
        ticket = await a_ticket(session)
        await a_task(session, bus, ticket)
        await a_task(session, bus, ticket)

    async with sessions() as adding, sessions() as claiming:
        ready = await turns.ready_tasks(claiming, now=NOON, without=[], limit=10)
        held = await adding.get_one(Ticket, ticket.id)
        adder = asyncio.create_task(a_task(adding, bus, held))
        # The new row is there, and holds its ticket; then it waits for the claim.
        await waiting_for_a_lock(sessions)
        await service.assign(claiming, bus, ready[0].task, lease_owner=1, until=NOON)
        await claiming.commit()
        added = await adder
        await adding.commit()

    assert (ready[0].task.status, added.status) == (TaskState.ASSIGNED, TaskState.PENDING)


async def waiting_for_a_lock(sessions: Sessions) -> None:
    """Return once a transaction of this database waits for another."""
    waiting = "SELECT count(*) FROM pg_stat_activity WHERE wait_event_type = 'Lock' AND datname = current_database()"
    async with asyncio.timeout(10), sessions() as session:
        while not (await session.execute(text(waiting))).scalar_one():
            await session.commit()
