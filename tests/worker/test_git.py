"""The checkout, against a real git server."""

import os
from pathlib import Path

import pytest

from omoi_os.worker.git import GitError, Repository

from .conftest import BRANCH, TASK_ID, Worker, git
from .platform import TOKEN


@pytest.fixture
def checkout(worker: Worker, root: Path) -> Repository:
    return Repository(root / "workspace", worker.assignment, TOKEN, dict(os.environ))


def push(seed: Path, branch: str, **files: str) -> None:
    """Push a commit on top of `main` to a branch."""
    git(seed, "checkout", "--quiet", "--detach", "origin/main")
    for name, content in files.items():
        (seed / name).write_text(content)
    git(seed, "add", "-A")
    git(seed, "commit", "--quiet", "-m", f"On {branch}")
    git(seed, "push", "--quiet", "--force", "origin", f"HEAD:refs/heads/{branch}")


async def test_what_half_a_clone_left_is_removed_first(checkout: Repository) -> None:
    (checkout.workspace / "rubbish").mkdir(parents=True)
    (checkout.workspace / ".git").mkdir()
    await checkout.check_out()

    assert sorted(path.name for path in checkout.workspace.iterdir()) == [".git", "README.md"]


async def test_unfinished_work_that_no_longer_fits_is_left_aside(checkout: Repository, root: Path) -> None:
    push(root / "seed", BRANCH, same="branch\n")
    push(root / "seed", f"wip/{TASK_ID}", same="wip\n")
    base = await checkout.check_out()

    assert (checkout.workspace / "same").read_text() == "branch\n"
    assert await checkout.head() == base
    assert await checkout.run("status", "--porcelain") == ""


async def test_unfinished_work_beside_the_branch_is_merged(checkout: Repository, root: Path) -> None:
    push(root / "seed", BRANCH, one="1\n")
    push(root / "seed", f"wip/{TASK_ID}", two="2\n")
    base = await checkout.check_out()

    assert (checkout.workspace / "one").exists()
    assert (checkout.workspace / "two").exists()
    assert await checkout.head() != base


async def test_hooks_and_leftover_locks_do_not_stop_the_commit(checkout: Repository, root: Path) -> None:
    base = await checkout.check_out()
    hook = checkout.workspace / ".git" / "hooks" / "pre-commit"
    hook.parent.mkdir(exist_ok=True)
    hook.write_text(f"#!/bin/sh\ntouch {root}/ran\nexit 1\n")
    hook.chmod(0o755)
    (checkout.workspace / ".git" / "index.lock").touch()
    (checkout.workspace / "--file").write_text("x\n")
    (checkout.workspace / "__pycache__").mkdir()
    (checkout.workspace / "__pycache__" / "a.pyc").touch()
    await checkout.commit("$(touch /tmp/pwned)\n\nTask: 1\n")

    assert await checkout.files_changed(base) == ["--file"]
    assert await checkout.run("log", "-1", "--format=%s") == "$(touch /tmp/pwned)"
    assert not (root / "ran").exists()


async def test_a_push_that_is_not_a_step_forward_is_final(checkout: Repository, root: Path) -> None:
    await checkout.check_out()
    push(root / "seed", BRANCH, other="x\n")
    (checkout.workspace / "mine").touch()
    await checkout.commit("Mine")

    with pytest.raises(GitError, match="rejected") as raised:
        await checkout.push()
    assert raised.value.final


async def test_the_token_is_in_no_file_and_no_argument(checkout: Repository) -> None:
    await checkout.check_out()

    assert TOKEN not in (checkout.workspace / ".git" / "config").read_text()
    assert "extraheader" not in (await checkout.run("config", "--local", "--list"))


async def test_nothing_unfinished_pushes_nothing(checkout: Repository, repository: Path) -> None:
    base = await checkout.check_out()

    assert await checkout.save_unfinished_work(base) is None
    assert git(repository, "branch", "--list", "wip/*") == ""
