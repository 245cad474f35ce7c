"""A task's branch: created once, for this task only, and kept by its later attempts."""

import asyncio

import pytest
from sqlalchemy.ext.asyncio import AsyncSession

from omoi_os.bus.memory import MemoryBus
from omoi_os.forges.local.forge import LocalForge
from omoi_os.orchestrator.context import Context
from omoi_os.orchestrator.dispatch.assignments import Work
from omoi_os.orchestrator.dispatch.dispatcher import claim
from omoi_os.orchestrator.dispatch.task_branch import ensure_branch
from omoi_os.projects.addresses import repository_of
from omoi_os.projects.models import Project
from omoi_os.sandboxes import service as sandboxes
from omoi_os.sandboxes.lifecycle import SandboxState
from omoi_os.sandboxes.models import Sandbox
from omoi_os.tasks import service as tasks
from omoi_os.tasks.lifecycle import EndCause
from omoi_os.tasks.models import Task
from tests.builders import a_project, a_task, a_ticket
from tests.conftest import NOON
from tests.orchestrator.conftest import MakeContext


@pytest.fixture
def context(make_context: MakeContext) -> Context:
    return make_context()


@pytest.fixture
def forge(context: Context) -> LocalForge:
    return LocalForge(context.settings.repositories_dir)


async def claimed(session: AsyncSession, context: Context, project: Project, *titles: str) -> list[Work]:
    for title in titles:
        await a_task(session, MemoryBus(), await a_ticket(session, project, title=title))
    await session.commit()
    return await claim(context)


async def stored(session: AsyncSession, work: Work) -> Task:
    return await session.get_one(Task, work.task.id, populate_existing=True)


async def test_a_branch_that_appeared_after_the_ticket_is_left_alone(
    session: AsyncSession, context: Context, forge: LocalForge
) -> None:
    project = await a_project(session)
    (work,) = await claimed(session, context, project, "Login")
    await forge.ensure_repository(repository_of(project))
    await forge.create_branch(repository_of(project), "feature/login")

    assert await ensure_branch(context, work, forge)

    task = await stored(session, work)
    assert (task.branch_name, task.branch_created) == ("feature/login-2", True)
    assert work.task.branch_name == "feature/login-2"


async def test_a_new_name_is_neither_another_task_s_nor_an_existing_branch(
    session: AsyncSession, context: Context, forge: LocalForge
) -> None:
    project = await a_project(session)
    works = await claimed(session, context, project, "Login", "Login")
    await forge.ensure_repository(repository_of(project))
    for name in ("feature/login", "feature/login-3"):
        await forge.create_branch(repository_of(project), name)

    assert all(await asyncio.gather(*(ensure_branch(context, work, forge) for work in works)))

    names = {(await stored(session, work)).branch_name for work in works}
    assert names == {"feature/login-2", "feature/login-4"}


async def test_an_orchestrator_that_died_after_creating_the_branch_costs_no_second_one(
    session: AsyncSession, context: Context, forge: LocalForge
) -> None:
    project = await a_project(session)
    (work,) = await claimed(session, context, project, "Login")
    await forge.ensure_repository(repository_of(project))
    # It died between creating the branch and recording that: the row does not say that it exists.
    await forge.create_branch(repository_of(project), "feature/login", task_id=work.task.id)

    assert await ensure_branch(context, work, forge)

    task = await stored(session, work)
    assert (task.branch_name, task.branch_created) == ("feature/login", True)


async def test_a_retry_keeps_its_branch_with_all_work_on_it(
    session: AsyncSession, context: Context, forge: LocalForge
) -> None:
    project = await a_project(session)
    (first,) = await claimed(session, context, project, "Login")
    await forge.ensure_repository(repository_of(project))
    await ensure_branch(context, first, forge)
    async with context.sessions.begin() as other:
        task = await other.get_one(Task, first.task.id)
        sandbox = await other.get_one(Sandbox, first.sandbox.id)
        await sandboxes.end(other, MemoryBus(), sandbox, state=SandboxState.FAILED, reason="it failed", now=NOON)
        await tasks.give_back(
            other, MemoryBus(), task, cause=EndCause.WORK, reason="it failed", backoff=context.backoff, now=NOON
        )
    (second,) = await claim(context)

    assert await ensure_branch(context, second, forge)

    assert (await stored(session, second)).branch_name == "feature/login"


async def test_a_superseded_attempt_changes_nothing(session: AsyncSession, context: Context, forge: LocalForge) -> None:
    project = await a_project(session)
    (work,) = await claimed(session, context, project, "Login")
    await forge.ensure_repository(repository_of(project))
    await forge.create_branch(repository_of(project), "feature/login")
    async with context.sessions.begin() as other:
        (await other.get_one(Task, work.task.id)).fence += 1

    assert not await ensure_branch(context, work, forge)

    task = await stored(session, work)
    assert (task.branch_name, task.branch_created) == ("feature/login", False)


async def test_the_default_branch_is_no_task_s_name(session: AsyncSession) -> None:
    project = await a_project(session)
    project.default_branch = "Feature/Next"

    task = await a_task(session, MemoryBus(), await a_ticket(session, project, title="Next"))

    assert task.branch_name == "feature/next-2"
