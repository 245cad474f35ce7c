"""The real git client, through a gateway socket, with repositories of the local forge."""

import asyncio
import gzip
import os
import threading
from collections.abc import AsyncIterator, Callable, Iterator
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from pathlib import Path
from uuid import uuid4

import pytest

from omoi_os.config import Settings
from omoi_os.db.base import Sessions
from omoi_os.forges.bare import git
from omoi_os.forges.branches import wip_branch
from omoi_os.forges.local.forge import LocalForge
from omoi_os.gateway.callers import MAX_AGE_SECONDS
from omoi_os.projects.addresses import git_path, repository_of
from omoi_os.projects.models import Project
from omoi_os.sandboxes.lifecycle import Purpose
from omoi_os.tasks.models import Task
from tests.gateway.conftest import OpenSocket, Start
from tests.gateway.places import GatewaySocket


@dataclass
class Workspace:
    """A git client inside a sandbox."""

    gateway_socket: GatewaySocket
    base: str
    folder: Path
    forge: LocalForge

    async def git(self, *arguments: str, token: str | None = None) -> tuple[int, str]:
        header = f"http.extraHeader=Authorization: Bearer {self.gateway_socket.token if token is None else token}"
        identity = ("-c", "user.name=agent", "-c", "user.email=agent@localhost")
        process = await asyncio.create_subprocess_exec(
            *("git", "-c", header, *identity, *arguments),
            stdout=asyncio.subprocess.PIPE,
            stderr=asyncio.subprocess.STDOUT,
            cwd=self.folder,
            env={"PATH": os.environ["PATH"], "GIT_TERMINAL_PROMPT": "0", "GIT_CONFIG_GLOBAL": "/dev/null"},
        )
        output, _ = await process.communicate()
        assert process.returncode is not None
        return process.returncode, output.decode()

    async def commit(self, name: str, content: str | bytes) -> str:
        (self.folder / name).write_bytes(content.encode() if isinstance(content, str) else content)
        await self.git("add", ".")
        assert await self.git("commit", "-q", "-m", name) == (0, "")
        return (await self.git("rev-parse", "HEAD"))[1].strip()

    async def head(self, branch: str) -> str | None:
        return await self.forge.branch_head(repository_of(self.gateway_socket.project), branch)

    @property
    def url(self) -> str:
        return self.base + git_path(self.gateway_socket.project)

    @property
    def branch(self) -> str:
        assert self.gateway_socket.task.branch_name
        return self.gateway_socket.task.branch_name


@pytest.fixture
def forge(settings: Settings) -> LocalForge:
    return LocalForge(settings.repositories_dir)


@pytest.fixture
async def workspace(
    open_socket: OpenSocket, start: Start, forge: LocalForge, tmp_path: Path
) -> AsyncIterator[Workspace]:
    """A clone of the project's repository, on the task's branch."""
    gateway_socket = await open_socket()
    await start()
    repository = repository_of(gateway_socket.project)
    await forge.ensure_repository(repository)
    await forge.create_branch(repository, gateway_socket.task.branch_name or "")
    async with gateway_socket.port() as base:
        made = Workspace(gateway_socket, base, tmp_path, forge)
        code, output = await made.git("clone", "-q", "-b", made.branch, made.url, "work")
        assert (code, output) == (0, "")
        made.folder = tmp_path / "work"
        yield made


async def test_a_commit_pushed_to_the_task_s_branch_is_on_the_forge(workspace: Workspace) -> None:
    commit = await workspace.commit("new.txt", "new")

    code, output = await workspace.git("push", "origin", "HEAD")

    assert code == 0, output
    assert await workspace.head(workspace.branch) == commit
    assert "new.txt" in (await workspace.git("ls-tree", "--name-only", "origin/" + workspace.branch))[1]


async def test_a_large_push_is_streamed_to_git(workspace: Workspace) -> None:
    commit = await workspace.commit("large.bin", os.urandom(4 << 20))

    code, output = await workspace.git("push", "origin", "HEAD")

    assert code == 0, output
    assert await workspace.head(workspace.branch) == commit


@contextmanager
def peak_memory(*programs: bytes) -> Iterator[list[int]]:
    """Measure the peak memory of each process of these git programs while the block runs."""
    peaks: dict[str, int] = {}
    ended = threading.Event()

    def look() -> None:
        while not ended.wait(0.01):
            for process in Path("/proc").glob("[0-9]*"):
                with suppress(OSError, IndexError):
                    if any(program in (process / "cmdline").read_bytes() for program in programs):
                        status = (process / "status").read_text()
                        peaks[process.name] = int(status.split("VmHWM:")[1].split()[0]) << 10

    looking = threading.Thread(target=look)
    looking.start()
    found: list[int] = []
    try:
        yield found
    finally:
        ended.set()
        looking.join()
        found += peaks.values()


async def test_a_push_that_unpacks_to_gigabytes_is_refused_and_uses_little_memory(workspace: Workspace) -> None:
    with (workspace.folder / "bomb.bin").open("wb") as bomb:
        bomb.truncate(450 << 20)
    # The client itself streams it.
    streamed = ("-c", "core.bigFileThreshold=1m")
    await workspace.git(*streamed, "add", ".")
    await workspace.git("commit", "-q", "-m", "bomb")

    with peak_memory(b"index-pack", b"unpack-objects") as peaks:
        code, output = await workspace.git(*streamed, "push", "origin", "HEAD")

    assert code != 0
    assert "memory" in output
    # A process that is refused memory ends at once, often unseen; one that gets it inflates the file for a second.
    assert max(peaks, default=0) < git.PUSH_MEMORY_BYTES + (64 << 20)
    # Other pushes still work, also from this sandbox.
    await workspace.git("reset", "-q", "--hard", "HEAD~1")
    commit = await workspace.commit("small.bin", os.urandom(32 << 20))
    code, output = await workspace.git("push", "origin", "HEAD")
    assert code == 0, output
    assert await workspace.head(workspace.branch) == commit


async def test_a_fetch_may_be_compressed(workspace: Workspace) -> None:
    """The git client compresses a request that is longer than a kilobyte."""
    headers = {"Content-Encoding": "gzip", "Git-Protocol": "version=2"}
    asked = gzip.compress(b"0014command=ls-refs\n00010000")

    async with workspace.gateway_socket.client(**headers) as client:
        async with client.post(f"{git_path(workspace.gateway_socket.project)}/git-upload-pack", data=asked) as answer:
            listed = await answer.text()

    assert f"{await workspace.head('main')} refs/heads/main" in listed


async def test_unfinished_work_may_be_pushed_and_replaced_on_its_branch(workspace: Workspace) -> None:
    wip = wip_branch(workspace.gateway_socket.task.id)
    first = await workspace.commit("first.txt", "first")
    assert (await workspace.git("push", "origin", f"HEAD:refs/heads/{wip}"))[0] == 0
    await workspace.git("reset", "-q", "--hard", "origin/main")
    second = await workspace.commit("second.txt", "second")

    code, output = await workspace.git("push", "--force", "origin", f"HEAD:refs/heads/{wip}")

    assert code == 0, output
    assert await workspace.head(wip) == second
    log = workspace.forge.path(repository_of(workspace.gateway_socket.project)) / "logs" / "refs" / "heads" / wip
    # Garbage collection keeps what is logged: a sandbox may still borrow the replaced commit.
    assert log.read_text().splitlines()[-1].startswith(f"{first} {second} ")


@pytest.mark.parametrize("ref", ["refs/heads/main", "refs/heads/other", "refs/tags/v1", "refs/heads/wip/other"])
async def test_a_push_to_another_ref_is_refused_and_names_the_allowed_ones(workspace: Workspace, ref: str) -> None:
    before = await workspace.head("main")
    await workspace.commit("new.txt", "new")

    code, output = await workspace.git("push", "origin", f"HEAD:{ref}")

    assert code != 0
    assert f"may push only to refs/heads/{workspace.branch}" in output
    assert await workspace.head("main") == before
    assert await workspace.head(ref.removeprefix("refs/heads/")) in (None, before)


@pytest.mark.parametrize("spelled", [str, str.upper])
async def test_the_default_branch_is_not_pushed_to_even_if_the_task_names_it(
    workspace: Workspace, sessions: Sessions, spelled: Callable[[str], str]
) -> None:
    """A user may make the task's branch the default branch while its agent works."""
    before = await workspace.head(workspace.branch)
    async with sessions.begin() as session:
        project = await session.get_one(Project, workspace.gateway_socket.project.id)
        project.default_branch = spelled(workspace.branch)
    await asyncio.sleep(MAX_AGE_SECONDS)  # How long the gateway may remember the project as it was.
    await workspace.commit("new.txt", "new")

    code, output = await workspace.git("push", "origin", "HEAD")

    assert code != 0
    assert "may not push to the default branch" in output
    assert await workspace.head(workspace.branch) == before


async def test_a_branch_that_was_not_created_for_the_task_is_not_pushed_to(
    workspace: Workspace, sessions: Sessions
) -> None:
    before = await workspace.head(workspace.branch)
    async with sessions.begin() as session:
        (await session.get_one(Task, workspace.gateway_socket.task.id)).branch_created = False
    await asyncio.sleep(MAX_AGE_SECONDS)
    await workspace.commit("new.txt", "new")

    code, output = await workspace.git("push", "origin", "HEAD")

    assert code != 0
    assert f"may push only to refs/heads/wip/{workspace.gateway_socket.task.id}" in output
    assert await workspace.head(workspace.branch) == before


async def test_the_platform_s_own_refs_are_hidden(workspace: Workspace) -> None:
    repository = repository_of(workspace.gateway_socket.project)
    await workspace.forge.create_branch(repository, "feature/other", task_id=uuid4())

    code, listed = await workspace.git("ls-remote", "origin")

    assert code == 0
    assert "refs/heads/feature/other" in listed
    assert "refs/omoi" not in listed


async def test_one_forbidden_ref_refuses_the_whole_push(workspace: Workspace) -> None:
    before = await workspace.head(workspace.branch)
    await workspace.commit("new.txt", "new")

    code, output = await workspace.git("push", "origin", "HEAD", "HEAD:refs/heads/other")

    assert code != 0
    assert "[remote rejected]" in output
    assert (await workspace.head(workspace.branch), await workspace.head("other")) == (before, None)


async def test_a_large_refused_push_ends_with_the_reason(workspace: Workspace) -> None:
    await workspace.commit("large.bin", os.urandom(4 << 20))

    code, output = await workspace.git("push", "origin", "HEAD:refs/heads/other")

    assert code != 0
    assert "may push only to" in output


async def test_history_of_the_task_s_branch_is_not_replaced(workspace: Workspace) -> None:
    first = await workspace.commit("first.txt", "first")
    await workspace.git("push", "-q", "origin", "HEAD")
    await workspace.git("reset", "-q", "--hard", "origin/main")
    await workspace.commit("second.txt", "second")

    code, output = await workspace.git("push", "--force", "origin", f"HEAD:refs/heads/{workspace.branch}")

    assert code != 0
    assert "non-fast-forward" in output
    assert await workspace.head(workspace.branch) == first


async def test_a_branch_is_not_deleted(workspace: Workspace) -> None:
    before = await workspace.head(workspace.branch)

    code, output = await workspace.git("push", "origin", "--delete", workspace.branch)

    assert code != 0
    assert "may not delete branches" in output
    assert await workspace.head(workspace.branch) == before


async def test_a_compressed_push_cannot_hide_its_commands(workspace: Workspace) -> None:
    async with workspace.gateway_socket.client(**{"Content-Encoding": "gzip"}) as client:
        async with client.post(f"{git_path(workspace.gateway_socket.project)}/git-receive-pack", data=b"x") as answer:
            assert answer.status == 400
            assert "Content-Encoding" in (await answer.json(content_type=None))["detail"]


@pytest.mark.parametrize("body", [b"", b"0004", b"zzzz", b"00", b"0010not a push", b"0000" * 1])
async def test_a_malformed_push_is_refused(workspace: Workspace, body: bytes) -> None:
    async with workspace.gateway_socket.client() as client:
        async with client.post(f"{git_path(workspace.gateway_socket.project)}/git-receive-pack", data=body) as answer:
            assert answer.status == (200 if body == b"0000" else 400)


async def test_another_project_s_repository_is_not_found(
    workspace: Workspace, open_socket: OpenSocket, forge: LocalForge
) -> None:
    other = (await open_socket()).project
    await forge.ensure_repository(repository_of(other))

    code, output = await workspace.git("ls-remote", workspace.base + git_path(other))

    assert code != 0
    assert "not found" in output
    for path in ("objects/info/packs", "HEAD", "config", "../config"):
        async with workspace.gateway_socket.client() as client:
            async with client.get(f"{git_path(workspace.gateway_socket.project)}/{path}") as answer:
                assert answer.status == 404


async def test_an_unknown_token_is_refused(workspace: Workspace) -> None:
    code, output = await workspace.git("ls-remote", workspace.url, token="sbx_wrong")

    assert code != 0
    assert "Authentication failed" in output or "401" in output or "could not read Username" in output


async def test_a_verifying_sandbox_may_read_but_not_push(
    open_socket: OpenSocket, start: Start, forge: LocalForge, tmp_path: Path
) -> None:
    gateway_socket = await open_socket(purpose=Purpose.VERIFY)
    await start()
    await forge.ensure_repository(repository_of(gateway_socket.project))
    async with gateway_socket.port() as base:
        workspace = Workspace(gateway_socket, base, tmp_path, forge)
        assert (await workspace.git("clone", "-q", workspace.url, "work"))[0] == 0
        workspace.folder = tmp_path / "work"

        code, output = await workspace.git("push", "origin", f"HEAD:refs/heads/{workspace.branch}")

    assert code != 0
    assert "may not push" in output


async def test_a_push_beyond_the_repository_s_quota_is_refused(
    open_socket: OpenSocket, start: Start, forge: LocalForge, tmp_path: Path
) -> None:
    gateway_socket = await open_socket()
    await start(project_repository_gb=1 / 1024)
    repository = repository_of(gateway_socket.project)
    await forge.ensure_repository(repository)
    await forge.create_branch(repository, gateway_socket.task.branch_name or "")
    async with gateway_socket.port() as base:
        made = Workspace(gateway_socket, base, tmp_path, forge)
        assert (await made.git("clone", "-q", "-b", made.branch, made.url, "work"))[0] == 0
        made.folder = tmp_path / "work"
        fits = await made.commit("small.bin", os.urandom(600_000))
        assert (await made.git("push", "-q", "origin", "HEAD"))[0] == 0
        await made.commit("large.bin", os.urandom(600_000))

        too_large = await made.git("push", "origin", "HEAD")

        assert too_large[0] != 0
        assert "exceeds maximum allowed size" in too_large[1]
        assert await made.head(made.branch) == fits


async def test_a_sandbox_cannot_push_more_than_its_quota(
    open_socket: OpenSocket, start: Start, forge: LocalForge, tmp_path: Path
) -> None:
    gateway_socket = await open_socket()
    await start(sandbox_push_gb=1 / 1024)
    repository = repository_of(gateway_socket.project)
    await forge.ensure_repository(repository)
    await forge.create_branch(repository, gateway_socket.task.branch_name or "")
    async with gateway_socket.port() as base:
        made = Workspace(gateway_socket, base, tmp_path, forge)
        assert (await made.git("clone", "-q", "-b", made.branch, made.url, "work"))[0] == 0
        made.folder = tmp_path / "work"
        wip = wip_branch(gateway_socket.task.id)
        outcomes = []
        for number in range(4):
            await made.git("reset", "-q", "--hard", "origin/main")
            await made.commit(f"{number}.bin", os.urandom(400_000))
            outcomes.append(await made.git("push", "--force", "origin", f"HEAD:refs/heads/{wip}"))

    assert [code for code, _ in outcomes[:2]] == [0, 0]
    assert outcomes[3][0] != 0
    assert "exceeds maximum allowed size" in outcomes[2][1] or "OMOI_SANDBOX_PUSH_GB" in outcomes[3][1]
