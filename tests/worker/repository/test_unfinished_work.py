"""Unfinished work is saved from any checkout, and the next attempt continues from it."""

import os
import shutil
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path

import pytest

from omoi_os.worker.repository import unfinished_work
from omoi_os.worker.repository.git import GitError, Repository
from omoi_os.worker.repository.unfinished_work import save_unfinished_work
from tests.worker.conftest import BRANCH, TASK_ID, Worker, git
from tests.worker.platform import TOKEN, Platform

WIP = f"wip/{TASK_ID}"


@pytest.fixture
def checkout(worker: Worker) -> Repository:
    return Repository(worker.paths, worker.assignment, TOKEN, dict(os.environ))


@pytest.fixture
def later(worker: Worker, root: Path) -> Repository:
    """The checkout of the next attempt, in another sandbox."""
    return Repository(
        replace(worker.paths, workspace=root / "later", home=root / "later-home"),
        worker.assignment,
        TOKEN,
        dict(os.environ),
    )


def kill_git_at_work(workspace: Path) -> None:
    (workspace / ".git" / "index.lock").write_bytes(b"half an index")
    (workspace / ".git" / "refs" / "heads" / "x.lock").touch()


def corrupt_index(workspace: Path) -> None:
    (workspace / ".git" / "index").write_bytes(b"DIRC nonsense")


def detach(workspace: Path) -> None:
    git(workspace, "checkout", "--quiet", "--detach")


def leave_head_unborn(workspace: Path) -> None:
    git(workspace, "checkout", "--quiet", "--orphan", "nowhere")


def merge_by_half(workspace: Path) -> None:
    git(workspace, "checkout", "--quiet", "-b", "other")
    (workspace / "README.md").write_text("theirs\n")
    git(workspace, "commit", "--quiet", "-am", "Theirs")
    git(workspace, "checkout", "--quiet", BRANCH)
    (workspace / "README.md").write_text("ours\n")
    git(workspace, "commit", "--quiet", "-am", "Ours")
    with pytest.raises(Exception, match="merge"):
        git(workspace, "merge", "other")


def remove_repository(workspace: Path) -> None:
    shutil.rmtree(workspace / ".git")


def corrupt_head(workspace: Path) -> None:
    (workspace / ".git" / "HEAD").write_text("\0\0\0")


def lose_objects(workspace: Path) -> None:
    shutil.rmtree(workspace / ".git" / "objects")
    (workspace / ".git" / "objects").mkdir()


def point_remote_elsewhere(workspace: Path) -> None:
    git(workspace, "remote", "set-url", "origin", "http://127.0.0.1:9/nowhere.git")


def set_filters_and_hooks(workspace: Path) -> None:
    git(workspace, "config", "filter.x.clean", "exit 1")
    git(workspace, "config", "filter.x.required", "false")
    (workspace / ".gitattributes").write_text("new.txt filter=x\n")
    hook = workspace / ".git" / "hooks" / "pre-push"
    hook.parent.mkdir(exist_ok=True)
    hook.write_text("#!/bin/sh\nexit 1\n")
    hook.chmod(0o755)


STATES: list[Callable[[Path], None]] = [
    kill_git_at_work,
    corrupt_index,
    detach,
    leave_head_unborn,
    merge_by_half,
    remove_repository,
    corrupt_head,
    lose_objects,
    point_remote_elsewhere,
    set_filters_and_hooks,
]


@pytest.mark.parametrize("damage", STATES, ids=lambda damage: damage.__name__)
async def test_work_is_saved_from_a_checkout_in_any_state(
    checkout: Repository, later: Repository, damage: Callable[[Path], None]
) -> None:
    base = await checkout.check_out()
    (checkout.workspace / "new.txt").write_text("unfinished\n")
    damage(checkout.workspace)
    readme = (checkout.workspace / "README.md").read_text()
    saved = await save_unfinished_work(checkout, base)
    await later.check_out()

    assert saved.problem is None
    assert (later.workspace / "new.txt").read_text() == "unfinished\n"
    assert (later.workspace / "README.md").read_text() == readme
    assert await later.head() == saved.commit


async def test_saving_changes_nothing_in_the_checkout_and_can_be_repeated(
    checkout: Repository, repository: Path
) -> None:
    base = await checkout.check_out()
    (checkout.workspace / "staged").touch()
    git(checkout.workspace, "add", "staged")
    (checkout.workspace / "loose").write_bytes(bytes(range(256)))
    before = git(checkout.workspace, "status", "--porcelain", "--branch"), await checkout.head()
    first = await save_unfinished_work(checkout, base)
    second = await save_unfinished_work(checkout, base)

    assert (git(checkout.workspace, "status", "--porcelain", "--branch"), await checkout.head()) == before
    assert first == second
    assert git(repository, "rev-parse", WIP) == first.commit
    assert git(repository, "ls-tree", "--name-only", WIP).split() == ["README.md", "loose", "staged"]
    assert [path.name for path in checkout.paths.private.iterdir()] == ["base"]


async def test_nothing_unfinished_pushes_nothing(checkout: Repository, repository: Path) -> None:
    base = await checkout.check_out()
    (checkout.workspace / "__pycache__").mkdir()
    (checkout.workspace / "__pycache__" / "a.pyc").touch()

    assert (await save_unfinished_work(checkout, base)).commit is None
    assert git(repository, "branch", "--list", "wip/*") == ""


async def test_what_was_committed_counts_wherever_the_agent_looks_now(checkout: Repository, repository: Path) -> None:
    base = await checkout.check_out()
    (checkout.workspace / "done.txt").touch()
    await checkout.commit("Done")
    tip = await checkout.head()
    git(checkout.workspace, "checkout", "--quiet", "--detach", base)

    assert (await save_unfinished_work(checkout, base)).commit == tip

    (checkout.workspace / "loose.txt").touch()
    saved = await save_unfinished_work(checkout, base)
    assert git(repository, "log", "-1", "--format=%P", WIP) == f"{base} {tip}"
    assert git(repository, "rev-parse", WIP) == saved.commit


async def test_files_that_are_too_large_are_left_out(
    checkout: Repository, repository: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(unfinished_work, "MAX_FILE_BYTES", 1000)
    monkeypatch.setattr(unfinished_work, "MAX_TOTAL_BYTES", 1500)
    base = await checkout.check_out()
    (checkout.workspace / "README.md").write_bytes(b"r" * 1001)
    (checkout.workspace / "a*").write_bytes(b"a" * 1001)
    (checkout.workspace / "ab").write_bytes(b"b" * 800)
    (checkout.workspace / "c").write_bytes(b"c" * 900)
    with (checkout.workspace / "sparse").open("wb") as sparse:
        sparse.truncate(1 << 40)
    saved = await save_unfinished_work(checkout, base)

    assert saved.left_out == ("README.md", "c", "a*", "sparse")
    assert git(repository, "ls-tree", "--name-only", WIP).split() == ["README.md", "ab"]
    assert git(repository, "show", f"{WIP}:README.md") == "# Demo"


async def test_what_cannot_be_read_does_not_keep_the_rest_from_being_saved(
    checkout: Repository, repository: Path
) -> None:
    base = await checkout.check_out()
    git(checkout.workspace, "init", "--quiet", "empty-repository")
    os.mkfifo(checkout.workspace / "fifo")
    (checkout.workspace / "-new file\n").write_text("unfinished\n")
    saved = await save_unfinished_work(checkout, base)

    assert saved.problem
    assert "empty-repository" in saved.problem
    assert git(repository, "ls-tree", "--name-only", "-z", WIP).split("\0")[:2] == ["-new file\n", "README.md"]


async def test_a_refused_token_is_final_and_an_absent_platform_is_not(
    checkout: Repository, platform: Platform, monkeypatch: pytest.MonkeyPatch
) -> None:
    base = await checkout.check_out()
    (checkout.workspace / "new.txt").touch()
    with pytest.raises(GitError) as refused:
        await save_unfinished_work(replace(checkout, token="sbx_other"), base)
    assert refused.value.final

    monkeypatch.setattr(unfinished_work, "PUSH_TRIES", 1)
    await platform.stop()
    with pytest.raises(GitError, match="with a new repository") as absent:
        await save_unfinished_work(checkout, base)
    assert not absent.value.final


async def test_stale_work_does_not_hurt(checkout: Repository, later: Repository, root: Path) -> None:
    base = await checkout.check_out()
    (checkout.workspace / "plan.txt").write_text("first\n")
    await save_unfinished_work(checkout, base)
    await later.check_out()
    git(later.workspace, "rm", "--quiet", "plan.txt")
    (later.workspace / "result.txt").write_text("done\n")
    await later.commit("Done without a plan")
    await later.push()

    again = replace(later, paths=replace(later.paths, workspace=root / "third", home=root / "third-home"))
    base = await again.check_out()

    assert await again.head() == base == await later.head()
    assert sorted(path.name for path in again.workspace.iterdir()) == [".git", "README.md", "result.txt"]
