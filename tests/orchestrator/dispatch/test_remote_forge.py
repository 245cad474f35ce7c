"""Dispatch for a project whose repository is on another machine: its sandbox gets an up-to-date mirror."""

from dataclasses import replace
from pathlib import Path

import pytest
from sqlalchemy.ext.asyncio import AsyncSession

from omoi_os.bus.memory import MemoryBus
from omoi_os.forges.bare import refs
from omoi_os.forges.registry import FORGES
from omoi_os.orchestrator.dispatch.dispatcher import claim, spawn
from omoi_os.projects.addresses import repository_of
from omoi_os.providers.base import SandboxRef, SandboxSpec
from omoi_os.providers.local.host.provider import LocalProvider
from omoi_os.tasks.models import Task
from tests.builders import a_project, a_task, a_ticket
from tests.forges import remote
from tests.orchestrator.conftest import MakeContext


class Recording(LocalProvider):
    """Creates nothing and keeps the specifications."""

    def __init__(self, root: Path) -> None:
        super().__init__(root)
        self.specs: list[SandboxSpec] = []

    async def create(self, spec: SandboxSpec) -> SandboxRef:
        self.specs.append(spec)
        return SandboxRef(spec.id)


async def test_a_sandbox_starts_with_the_forge_s_newest_commits(
    session: AsyncSession, make_context: MakeContext, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setitem(FORGES, "remote", "tests.forges.remote")
    context = make_context()
    project = await a_project(session)
    project.forge = "remote"
    await a_task(session, MemoryBus(), await a_ticket(session, project, title="Login"))
    await session.commit()
    (work,) = await claim(context)
    provider = Recording(tmp_path)

    await spawn(context, replace(work, provider=provider))
    await context.jobs.finish("checkout ", timeout=30)

    forge, repository = remote.make_forge(context.settings), repository_of(project)
    mirror = provider.specs[0].mirror
    assert mirror is not None
    assert mirror != forge.path(repository)
    assert await refs.heads(mirror, "main") == {"main": await forge.branch_head(repository, "main")}
    task = await session.get_one(Task, work.task.id, populate_existing=True)
    assert await forge.branch_head(repository, task.branch_name or "")
    assert task.branch_created
