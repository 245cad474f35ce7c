"""The gateway serves any forge of the registry: it fetches first, and answers a push once the forge has it."""

from collections.abc import AsyncIterator
from pathlib import Path

import pytest

from omoi_os.config import Settings
from omoi_os.db.base import Sessions
from omoi_os.forges.bare import git
from omoi_os.forges.registry import FORGES
from omoi_os.projects.addresses import repository_of
from omoi_os.projects.models import Project
from tests.forges import remote
from tests.gateway.conftest import OpenSocket, Start
from tests.gateway.git.test_routes import Workspace


@pytest.fixture
async def workspace(
    open_socket: OpenSocket,
    start: Start,
    sessions: Sessions,
    settings: Settings,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
) -> AsyncIterator[Workspace]:
    """A clone of a repository that lives on a forge on another machine."""
    monkeypatch.setitem(FORGES, "remote", "tests.forges.remote")
    gateway_socket = await open_socket()
    async with sessions.begin() as session:
        (await session.get_one(Project, gateway_socket.project.id)).forge = "remote"
    forge = remote.make_forge(settings)
    await forge.ensure_repository(repository_of(gateway_socket.project))
    await forge.create_branch(repository_of(gateway_socket.project), gateway_socket.task.branch_name or "")
    await start()
    async with gateway_socket.port() as base:
        made = Workspace(gateway_socket, base, tmp_path, forge)
        code, output = await made.git("clone", "-q", "-b", made.branch, made.url, "work")
        assert (code, output) == (0, "")
        made.folder = tmp_path / "work"
        yield made


async def test_a_push_reaches_the_forge_before_it_is_answered(workspace: Workspace) -> None:
    commit = await workspace.commit("new.txt", "new")

    code, output = await workspace.git("push", "-q", "origin", "HEAD")

    assert (code, output) == (0, "")
    assert await workspace.head(workspace.branch) == commit


async def test_a_push_that_the_forge_refuses_is_not_acknowledged(workspace: Workspace) -> None:
    repository = repository_of(workspace.gateway_socket.project)
    before = await workspace.head(workspace.branch) or ""
    await workspace.commit("new.txt", "new")

    async with workspace.forge.held(repository, workspace.branch, before):
        refused, _ = await workspace.git("push", "-q", "origin", "HEAD")
        assert await workspace.head(workspace.branch) == before
    again, output = await workspace.git("push", "-q", "origin", "HEAD")

    assert refused != 0
    assert (again, output) == (0, "")


async def test_a_fetch_sees_what_others_pushed_to_the_forge(workspace: Workspace) -> None:
    path = workspace.forge.path(repository_of(workspace.gateway_socket.project))
    before = await workspace.head("main")
    other = await git.run("commit-tree", "-p", str(before), "-m", "other", f"{before}^{{tree}}", git_dir=path)
    await git.run("update-ref", "refs/heads/main", other, git_dir=path)

    assert (await workspace.git("fetch", "-q", "origin"))[0] == 0

    assert (await workspace.git("rev-parse", "origin/main"))[1].strip() == other


async def test_a_forge_that_is_not_registered_is_refused(workspace: Workspace, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delitem(FORGES, "remote")

    code, _ = await workspace.git("fetch", "-q", "origin")

    assert code != 0
