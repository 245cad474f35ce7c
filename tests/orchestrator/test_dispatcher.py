"""Claims: by priority and age, within every limit, once each."""

import asyncio

from sqlalchemy import select, update
from sqlalchemy.ext.asyncio import AsyncSession

from omoi_os.bus.memory import MemoryBus
from omoi_os.db.base import Sessions
from omoi_os.orchestrator.context import Context
from omoi_os.orchestrator.dispatcher import claim
from omoi_os.sandboxes.models import Sandbox
from omoi_os.tasks import service as tasks
from omoi_os.tasks.models import Task
from omoi_os.tickets.models import Ticket
from tests.builders import a_project, a_task, a_ticket
from tests.conftest import NOON
from tests.orchestrator.conftest import MakeContext


async def titles(context: Context) -> list[str]:
    return [work.task.title for work in await claim(context)]


async def test_the_urgent_go_first_then_the_oldest(session: AsyncSession, make_context: MakeContext) -> None:
    project = await a_project(session)
    for title, priority in [("b", "LOW"), ("c", "HIGH"), ("a", "CRITICAL"), ("d", "HIGH")]:
        await a_task(session, MemoryBus(), await a_ticket(session, project, title=title, priority=priority))
    await session.commit()

    assert await titles(make_context(max_concurrent_tasks=3)) == ["a", "c", "d"]


async def test_a_project_keeps_to_its_own_limit_and_leaves_room_to_others(
    session: AsyncSession, make_context: MakeContext
) -> None:
    crowded = await a_project(session, max_concurrent_tasks=2)
    for number in range(6):
        ticket = await a_ticket(session, crowded, title=f"crowded {number}", priority="CRITICAL")
        await a_task(session, MemoryBus(), ticket)
    await a_task(session, MemoryBus(), await a_ticket(session, title="other", priority="LOW"))
    await session.commit()
    context = make_context(max_concurrent_tasks=4)

    assert await titles(context) == ["crowded 0", "crowded 1", "other"]
    assert await titles(context) == []


async def test_many_orchestrators_claim_each_task_once(session: AsyncSession, make_context: MakeContext) -> None:
    project = await a_project(session, max_concurrent_tasks=100)
    for number in range(20):
        await a_task(session, MemoryBus(), await a_ticket(session, project, title=f"task {number}"))
    await session.commit()

    claimed = await asyncio.gather(*(titles(make_context(owner, max_concurrent_tasks=15)) for owner in range(1, 5)))

    flat = [title for titles_of_one in claimed for title in titles_of_one]
    assert (len(flat), len(set(flat))) == (15, 15)
    rows = (await session.execute(select(Sandbox.task_id, Sandbox.status))).all()
    assert (len(rows), {row.status for row in rows}) == (15, {"creating"})


async def test_a_task_that_backs_off_is_left_alone(session: AsyncSession, make_context: MakeContext) -> None:
    task = await a_task(session, MemoryBus())
    await session.execute(update(Task).where(Task.id == task.id).values(not_before="2100-01-01T00:00:00Z"))
    await session.commit()

    assert await titles(make_context()) == []


async def test_a_task_whose_provider_cannot_work_here_waits_and_says_why(
    session: AsyncSession, make_context: MakeContext
) -> None:
    project = await a_project(session, provider="daytona")
    task = await a_task(session, MemoryBus(), await a_ticket(session, project))
    await session.commit()

    assert await titles(make_context()) == []
    await session.refresh(task)
    assert (task.status, task.attempt, task.max_attempts) == ("pending", 1, 3)
    assert "DAYTONA_API_KEY" in (task.error or "")


async def test_a_ticket_of_several_tasks_follows_all_of_them(session: AsyncSession, make_context: MakeContext) -> None:
    ticket = await a_ticket(session, await a_project(session))
    failed = await a_task(session, MemoryBus(), ticket, title="first")
    await tasks.assign(session, MemoryBus(), failed, lease_owner=1, until=NOON)
    await tasks.fail(session, MemoryBus(), failed, reason="no", now=NOON)
    await a_task(session, MemoryBus(), ticket, title="second")
    await session.commit()

    assert await titles(make_context()) == ["second"]
    await session.refresh(ticket)
    assert ticket.status == "blocked"


async def test_what_another_transaction_holds_is_left_for_later(
    session: AsyncSession, sessions: Sessions, make_context: MakeContext
) -> None:
    project = await a_project(session)
    held = await a_ticket(session, project, title="held")
    await a_task(session, MemoryBus(), held)
    await a_task(session, MemoryBus(), await a_ticket(session, project, title="free"))
    await session.commit()

    async with sessions() as other, other.begin():
        await other.get_one(Ticket, held.id, with_for_update=True)
        assert await titles(make_context()) == ["free"]
    assert await titles(make_context()) == ["held"]
