"""A task's branch does not move after the task has left `running`."""

import asyncio
import subprocess
from collections.abc import AsyncIterator
from pathlib import Path

import pytest

from omoi_os.db.base import Sessions
from omoi_os.forges.branches import wip_branch
from omoi_os.projects.addresses import git_path, repository_of
from omoi_os.tasks.lifecycle import TaskState
from omoi_os.tasks.models import Task
from tests.gateway.git.test_routes import Workspace, forge, workspace

__all__ = ["forge", "workspace"]

LEFT = [state for state in TaskState if state not in (TaskState.ASSIGNED, TaskState.RUNNING)]


async def move(sessions: Sessions, workspace: Workspace, status: TaskState) -> None:
    async with sessions.begin() as session:
        (await session.get_one(Task, workspace.gateway_socket.task.id)).status = status


@pytest.mark.parametrize("status", LEFT)
async def test_a_task_that_has_left_running_keeps_its_branch(
    workspace: Workspace, sessions: Sessions, status: TaskState
) -> None:
    await move(sessions, workspace, TaskState.RUNNING)
    checked = await workspace.commit("checked.txt", "checked")
    code, output = await workspace.git("push", "origin", "HEAD")
    assert code == 0, output  # positive control: the same push while the task runs
    await move(sessions, workspace, status)
    later = await workspace.commit("later.txt", "never checked")

    code, output = await workspace.git("push", "origin", "HEAD")
    saved, why = await workspace.git(
        "push", "origin", f"HEAD:refs/heads/{wip_branch(workspace.gateway_socket.task.id)}"
    )

    assert (code != 0, await workspace.head(workspace.branch)) == (True, checked)
    assert f"the task is {status}" in output
    assert (saved, await workspace.head(wip_branch(workspace.gateway_socket.task.id))) == (0, later), why


def the_push(workspace: Workspace, old: str, new: str) -> bytes:
    """Return the request of a git client that moves the task's branch."""
    command = f"{old} {new} refs/heads/{workspace.branch}\0report-status side-band-64k object-format=sha1\n".encode()
    wanted = f"{new}\n^{old}\n".encode()
    pack = subprocess.run(
        ["git", "pack-objects", "--revs", "--stdout", "-q"], cwd=workspace.folder, input=wanted, capture_output=True
    )
    return f"{len(command) + 4:04x}".encode() + command + b"0000" + pack.stdout


@pytest.mark.parametrize(("status", "moved"), [(TaskState.RUNNING, True), (TaskState.COMPLETED, False)])
async def test_a_push_that_starts_in_time_and_ends_too_late_changes_nothing(
    workspace: Workspace, sessions: Sessions, status: TaskState, moved: bool
) -> None:
    await move(sessions, workspace, TaskState.RUNNING)
    old = await workspace.head(workspace.branch) or ""
    new = await workspace.commit("late.txt", "late")
    body = the_push(workspace, old, new)
    begun, go_on = asyncio.Event(), asyncio.Event()

    async def slowly() -> AsyncIterator[bytes]:
        yield body[:-40]
        begun.set()
        await go_on.wait()
        yield body[-40:]

    headers = {"Content-Type": "application/x-git-receive-pack-request"}
    async with workspace.gateway_socket.client(**headers) as client:
        path = f"{git_path(workspace.gateway_socket.project)}/git-receive-pack"
        pushing = asyncio.create_task(client.post(path, data=slowly()))
        await begun.wait()
        await until_received(workspace)
        await move(sessions, workspace, status)
        go_on.set()
        async with await pushing as answer:
            told = await answer.text()

    assert await workspace.head(workspace.branch) == (new if moved else old), told
    assert ("ok refs/heads" in told) == moved
    await move(sessions, workspace, TaskState.RUNNING)
    assert (await workspace.git("push", "origin", "HEAD"))[0] == 0  # the ref is not left locked


async def until_received(workspace: Workspace) -> None:
    """Wait until git on the server reads the pack, so the push has passed the first check."""
    repository = workspace.forge.path(repository_of(workspace.gateway_socket.project))
    async with asyncio.timeout(60):
        while not any(_packs(repository)):  # noqa: ASYNC110  another process creates them
            await asyncio.sleep(0.02)


def _packs(repository: Path) -> list[Path]:
    return [*repository.glob("objects/tmp_objdir-*"), *repository.glob("objects/incoming-*")]
