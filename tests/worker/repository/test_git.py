"""The checkout, against a real git server."""

import os
import shutil
from pathlib import Path

import pytest

from omoi_os.worker.repository.git import GitError, Repository
from tests.worker.conftest import BRANCH, TASK_ID, Worker, git
from tests.worker.platform import TOKEN


@pytest.fixture
def checkout(worker: Worker) -> Repository:
    return Repository(worker.paths, worker.assignment, TOKEN, dict(os.environ))


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


@pytest.fixture
def mirror(checkout: Repository, repository: Path) -> Path:
    """A mirror of the repository, as a provider binds it in: as root, another user owns it."""
    path = checkout.paths.mirror
    git(repository, "clone", "--quiet", "--mirror", str(repository), str(path))
    if os.geteuid() == 0:
        for entry in (path, *path.rglob("*")):
            os.chown(entry, 65534, 65534)
    return path


def contents(folder: Path) -> dict[str, bytes]:
    """All files below a folder."""
    return {str(path): path.read_bytes() for path in folder.rglob("*") if path.is_file()}


async def test_a_mirror_spares_the_transfer_and_stays_as_it_was(
    checkout: Repository, mirror: Path, repository: Path, root: Path
) -> None:
    push(root / "seed", BRANCH, newer="than the mirror\n")
    before = contents(mirror)
    await checkout.check_out()
    (checkout.workspace / "mine").touch()
    await checkout.commit("Mine")
    await checkout.push()

    assert (checkout.workspace / "newer").exists()
    alternates = checkout.workspace / ".git" / "objects" / "info" / "alternates"
    assert alternates.read_text() == f"{mirror}/objects\n"
    counts = dict(line.split(": ") for line in git(checkout.workspace, "count-objects", "-v").splitlines())
    assert int(counts["count"]) + int(counts["in-pack"]) == 6, "what the mirror holds was copied"
    assert git(repository, "rev-parse", BRANCH) == await checkout.head()
    assert contents(mirror) == before


@pytest.mark.parametrize("damage", ["no objects", "no repository"])
async def test_a_broken_mirror_is_done_without(checkout: Repository, mirror: Path, damage: str) -> None:
    if damage == "no objects":
        for pack in mirror.rglob("pack-*"):
            pack.write_bytes(b"")
        for entry in (mirror / "objects").glob("??/*"):
            entry.unlink()
    else:
        shutil.rmtree(mirror)
        mirror.mkdir()
    await checkout.check_out()

    assert (checkout.workspace / "README.md").read_text() == "# Demo\n"
    mirror.rename(mirror.with_name("gone"))
    git(checkout.workspace, "fsck", "--no-dangling")


async def test_a_checkout_that_was_used_before_keeps_what_is_in_it(checkout: Repository, root: Path) -> None:
    base = await checkout.check_out()
    push(root / "seed", f"wip/{TASK_ID}", mine="old\n")
    (checkout.workspace / "mine").write_text("new\n")
    (checkout.workspace / ".git" / "index.lock").touch()

    assert await checkout.check_out() == base
    assert (checkout.workspace / "mine").read_text() == "new\n"
    assert git(checkout.workspace, "status", "--porcelain") == "?? mine"
