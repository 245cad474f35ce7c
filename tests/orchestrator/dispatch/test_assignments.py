"""The environment and the assignment that a sandbox receives."""

import pytest
from sqlalchemy.ext.asyncio import AsyncSession

from omoi_os.bus.memory import MemoryBus
from omoi_os.config import Settings
from omoi_os.orchestrator.context import Context
from omoi_os.orchestrator.dispatch.assignments import Work, budget_of, shown_environment, work_environment
from omoi_os.projects.models import Project
from omoi_os.protocol.assignment import DEFAULT_SPOOL_BYTES, Assignment
from omoi_os.tasks.models import Task
from omoi_os.tickets.models import Ticket
from tests.builders import a_user, a_work_sandbox
from tests.conftest import NOON
from tests.orchestrator.conftest import MakeContext


async def some_work(session: AsyncSession, context: Context) -> Work:
    sandbox, token = await a_work_sandbox(session, MemoryBus(), now=NOON)
    task = await session.get_one(Task, sandbox.task_id)
    ticket, project = await session.get_one(Ticket, task.ticket_id), await session.get_one(Project, task.project_id)
    return Work(task, ticket, project, sandbox, token, context.providers.get("local"))


async def test_the_bound_of_the_spool_is_a_setting(session: AsyncSession, make_context: MakeContext) -> None:
    for parameters, expected in (({}, DEFAULT_SPOOL_BYTES), ({"spool_mb": 3}, 3 * 1024 * 1024)):
        context = make_context(**parameters)
        told = work_environment(context.settings, await some_work(session, context))["TASK_DATA_BASE64"]
        assert Assignment.decode(told).spool_bytes == expected


async def test_people_see_the_environment_without_its_secrets(session: AsyncSession, make_context: MakeContext) -> None:
    context = make_context()
    work = await some_work(session, context)

    shown, told = shown_environment(context.settings, work), work_environment(context.settings, work)

    assert shown.items() <= told.items()
    assert (shown["SANDBOX_ID"], shown["EXECUTION_MODE"]) == (work.sandbox.id, "implementation")
    assert work.token in str(told)
    assert work.token not in str(shown)


async def test_the_user_is_the_tickets_author_not_the_projects_owner(
    session: AsyncSession, make_context: MakeContext
) -> None:
    context = make_context()
    work = await some_work(session, context)
    work.ticket.created_by = (await a_user(session)).id

    told = work_environment(context.settings, work)

    assert told["USER_ID"] == str(work.ticket.created_by) != str(work.project.created_by)


@pytest.mark.parametrize(
    ("installation", "project", "ticket", "limit"),
    [
        (5.0, None, 1_000_000.0, 5.0),
        (5.0, 2.0, 1_000_000.0, 2.0),
        (5.0, 2.0, 1.0, 1.0),
        (None, 2.0, 3.0, 2.0),
        (5.0, None, None, 5.0),
        (None, None, 3.0, 3.0),
        (None, None, None, None),
    ],
)
def test_the_smallest_budget_wins(
    *, installation: float | None, project: float | None, ticket: float | None, limit: float | None
) -> None:
    settings = Settings(max_budget_usd=installation)

    assert budget_of(settings, Project(settings={"budget_usd": project}), Ticket(budget_usd=ticket)) == limit
