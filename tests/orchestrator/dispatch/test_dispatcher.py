"""Claims: by priority and age, within every limit, once each."""

import asyncio
from collections import Counter
from typing import Any

import pytest
from sqlalchemy import ClauseElement, select, text, update
from sqlalchemy.ext.asyncio import AsyncSession

from omoi_os.bus.memory import MemoryBus
from omoi_os.credentials import service as credentials
from omoi_os.credentials.encryption import Keyring
from omoi_os.credentials.kinds import CredentialProvider
from omoi_os.credentials.values import NewCredential
from omoi_os.db.base import Sessions
from omoi_os.orchestrator.context import Context
from omoi_os.orchestrator.dispatch.dispatcher import claim
from omoi_os.projects.models import Project
from omoi_os.sandboxes.models import Sandbox
from omoi_os.tasks import queue as turns
from omoi_os.tasks import service as tasks
from omoi_os.tasks.models import Task
from omoi_os.tickets.models import Ticket
from tests.builders import a_project, a_task, a_ticket, a_user
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

    assert await titles(context) == ["crowded 0", "other", "crowded 1"]
    assert await titles(context) == []


async def test_a_sandbox_names_the_model_that_its_tickets_author_uses(
    session: AsyncSession, make_context: MakeContext
) -> None:
    context, project = make_context(model=None), await a_project(session)
    with_own, without = await a_user(session), await a_user(session)
    new = NewCredential(CredentialProvider.ANTHROPIC, "Own", "key-of-the-author", model="glm-4.6")
    keyring = Keyring(context.settings)
    await credentials.add(session, MemoryBus(), keyring, with_own, new, settings=context.settings, now=NOON)
    for author in (with_own, without):
        await a_task(session, MemoryBus(), await a_ticket(session, project, created_by=author.id))
    await session.commit()

    found = {work.ticket.created_by: work.sandbox.model for work in await claim(context)}

    assert found == {with_own.id: "glm-4.6", without.id: "scripted"}


async def finish_all(session: AsyncSession) -> None:
    await session.execute(update(Task).where(Task.status == "assigned").values(status="completed"))
    await session.commit()


async def many_pending(session: AsyncSession, project: Project, *, number: int, priority: str = "MEDIUM") -> None:
    """Pending tasks of one ticket, written by the database itself."""
    task = await a_task(session, MemoryBus(), await a_ticket(session, project, title="queued", priority=priority))
    columns = [column.name for column in Task.__table__.columns if column.name not in ("id", "branch_name")]
    listed = ", ".join(columns)
    await session.execute(
        text(
            f"INSERT INTO tasks (id, branch_name, {listed}) SELECT gen_random_uuid(), 'feature/queued-' || number, "
            f"{listed} FROM tasks, generate_series(2, :number) number WHERE tasks.id = :id"
        ),
        {"number": number, "id": task.id},
    )


async def test_a_thousand_urgent_tasks_of_one_project_do_not_hold_up_the_others(
    session: AsyncSession, make_context: MakeContext
) -> None:
    await many_pending(session, await a_project(session, max_concurrent_tasks=100), number=1000, priority="CRITICAL")
    for number in range(4):
        ticket = await a_ticket(session, await a_project(session), title=f"other {number}", priority="LOW")
        await a_task(session, MemoryBus(), ticket)
    await session.commit()

    claimed = await titles(make_context(max_concurrent_tasks=10))

    assert sorted(claimed) == [*(f"other {number}" for number in range(4)), *["queued"] * 6]


async def test_projects_take_turns_when_there_is_room_for_one_task(
    session: AsyncSession, make_context: MakeContext
) -> None:
    projects = [await a_project(session) for _ in range(3)]
    for _ in range(2):
        for number, project in enumerate(projects):
            urgent = "CRITICAL" if number == 0 else "LOW"
            await a_task(session, MemoryBus(), await a_ticket(session, project, title=str(number), priority=urgent))
    await session.commit()

    order = []
    for _ in range(6):
        order += await titles(make_context(max_concurrent_tasks=1))
        await finish_all(session)

    assert sorted(order[:3]) == sorted(order[3:]) == ["0", "1", "2"]


async def test_a_project_that_uses_its_share_waits_for_those_that_do_not(
    session: AsyncSession, make_context: MakeContext
) -> None:
    hungry = await a_project(session, max_concurrent_tasks=100)
    await many_pending(session, hungry, number=10)
    await session.commit()
    assert await titles(make_context(max_concurrent_tasks=4)) == ["queued"] * 4
    for _ in range(3):
        await a_task(session, MemoryBus(), await a_ticket(session, title="other"))
    await session.commit()

    assert await titles(make_context(max_concurrent_tasks=8)) == ["other"] * 3 + ["queued"]


async def test_a_project_gets_slots_in_proportion_to_its_weight(
    session: AsyncSession, make_context: MakeContext
) -> None:
    for title, weight in (("heavy", 3), ("light", 1)):
        project = await a_project(session, max_concurrent_tasks=100, weight=weight)
        for _ in range(12):
            await a_task(session, MemoryBus(), await a_ticket(session, project, title=title))
    await session.commit()

    assert Counter(await titles(make_context(max_concurrent_tasks=8))) == {"heavy": 6, "light": 2}


async def test_heavy_projects_without_room_do_not_hide_the_others(
    session: AsyncSession, make_context: MakeContext
) -> None:
    for _ in range(3):
        await many_pending(session, await a_project(session, max_concurrent_tasks=1, weight=100), number=20)
    await a_task(session, MemoryBus(), await a_ticket(session, title="other"))
    await session.commit()

    assert sorted(await titles(make_context(max_concurrent_tasks=10))) == ["other", "queued", "queued", "queued"]


@pytest.mark.parametrize("analysed", [True, False])
async def test_a_claim_reads_no_more_of_a_long_queue_than_of_a_short_one(
    session: AsyncSession, *, analysed: bool
) -> None:
    await many_pending(session, await a_project(session), number=20_000)
    for _ in range(4):
        await a_task(session, MemoryBus(), await a_ticket(session))
    await session.commit()
    if analysed:
        await session.execute(text("ANALYZE"))
    values = {"now": NOON, "without": [], "limit": 10, "spare": turns.SPARE}

    assert await rows_read(session, turns.READY, values) < 600
    assert "ix_tasks_not_before" in str(await explain(session, text(EARLIEST), {"now": NOON}))


EARLIEST = "SELECT min(not_before) FROM tasks WHERE status = 'pending' AND not_before > :now"


async def explain(session: AsyncSession, statement: ClauseElement, values: dict[str, Any]) -> dict[str, Any]:
    """The plan of a statement, which is run."""
    compiled = statement.compile(dialect=session.get_bind().dialect)
    connection = await session.connection()
    explained = await connection.exec_driver_sql(f"EXPLAIN (ANALYZE, FORMAT JSON) {compiled}", compiled.params | values)
    plan: dict[str, Any] = explained.scalar_one()[0]["Plan"]
    return plan


async def rows_read(session: AsyncSession, statement: ClauseElement, values: dict[str, Any]) -> float:
    """The rows that all parts of its plan look at, kept or not."""

    def of(plan: dict[str, Any]) -> float:
        own = (plan["Actual Rows"] + plan.get("Rows Removed by Filter", 0)) * plan["Actual Loops"]
        return float(own) + sum(of(part) for part in plan.get("Plans", ()))

    return of(await explain(session, statement, values))


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
    assert ticket.status == "building"


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
