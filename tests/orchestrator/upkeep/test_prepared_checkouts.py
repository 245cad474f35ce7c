"""Checkouts are prepared for a project's next tasks, where they are wanted and of use."""

import subprocess
from collections.abc import Awaitable, Callable
from pathlib import Path

import pytest
from sqlalchemy.ext.asyncio import AsyncSession

from omoi_os.bus.memory import MemoryBus
from omoi_os.forges.mirror_checkouts import MIN_FILES
from omoi_os.forges.registry import make_forge, make_mirrors
from omoi_os.orchestrator.context import Context
from omoi_os.orchestrator.dispatch.assignments import Work, verify_spec, work_spec
from omoi_os.orchestrator.dispatch.dispatcher import claim
from omoi_os.orchestrator.upkeep import prepared_checkouts as checkouts
from omoi_os.projects.addresses import repository_of
from omoi_os.providers.local.host import disk_template as template
from tests.builders import a_project, a_task, a_ticket
from tests.orchestrator.conftest import MakeContext

MakeWork = Callable[[Context], Awaitable[Work]]


@pytest.fixture
def make_work(session: AsyncSession, tmp_path: Path) -> MakeWork:
    """A claimed task in a project with enough files."""
    seed = tmp_path / "seed"
    seed.mkdir()
    for number in range(MIN_FILES):
        (seed / f"{number}.txt").touch()
    identity = ["-c", "user.name=t", "-c", "user.email=t@t"]
    for command in (["init", "-q", "-b", "main"], ["add", "-A"], ["commit", "-q", "-m", "first"]):
        subprocess.run(["git", *identity, *command], cwd=seed, check=True)

    async def make(context: Context) -> Work:
        project = await a_project(session)
        project.repo_url = str(seed)
        await a_task(session, MemoryBus(), await a_ticket(session, project, title="one"))
        await session.commit()
        (work,) = await claim(context)
        await make_forge(project.forge, context.settings).ensure_repository(repository_of(project))
        return work

    return make


async def test_the_next_task_begins_with_what_was_prepared_after_the_first(
    make_context: MakeContext, make_work: MakeWork
) -> None:
    if not template.works():
        pytest.xfail("workspaces are not laid over checkouts for this user")
    context = make_context()
    work = await make_work(context)
    assert work_spec(context.settings, work, owner="tests").checkout is None

    checkouts.prepare(context, work)
    await context.jobs.finish("checkout ", timeout=30)

    found = work_spec(context.settings, work, owner="tests").checkout
    assert found is not None
    assert (found / "tree" / "0.txt").exists()
    assert verify_spec(context.settings, work, owner="tests").checkout is None
    checkouts.prepare(context, work)
    assert not context.jobs.running(f"checkout {work.project.id}"), "it is prepared again at once"


@pytest.mark.parametrize("switch", ["overlay_checkouts", "prepared_checkouts"])
async def test_each_switch_turns_them_off(make_context: MakeContext, make_work: MakeWork, switch: str) -> None:
    wanted = make_context()
    work = await make_work(wanted)
    await make_mirrors("local", wanted.settings).prepare_checkout(repository_of(work.project))
    context = make_context(**{switch: False})

    checkouts.prepare(context, work)

    assert not context.jobs.running(f"checkout {work.project.id}")
    spec = work_spec(context.settings, work, owner="tests")
    assert spec.checkout is None
    assert (spec.mirror is not None) is (switch == "overlay_checkouts")
