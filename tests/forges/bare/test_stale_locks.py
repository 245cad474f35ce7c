"""Lock files that a killed git left are removed; those of a running git are not."""

import asyncio
import os
import time
from pathlib import Path
from uuid import uuid4

import pytest

from omoi_os.forges.bare import git
from omoi_os.forges.bare import stale_locks as locks
from omoi_os.forges.base import Repository
from omoi_os.forges.local.branch_lock import hold
from omoi_os.forges.local.forge import LocalForge

NAMES = ["HEAD.lock", "config.lock", "packed-refs.lock", "shallow.lock", "index.lock", "refs/heads/main.lock"]


@pytest.fixture
async def made(tmp_path: Path) -> tuple[LocalForge, Repository]:
    forge = LocalForge(tmp_path)
    repository = Repository(uuid4(), None, None, "main")
    await forge.ensure_repository(repository)
    return forge, repository


def _leave(path: Path, *, age: float = 60) -> None:
    path.touch()
    os.utime(path, (time.time() - age, time.time() - age))


async def test_stale_locks_are_removed_and_young_ones_are_not(made: tuple[LocalForge, Repository]) -> None:
    forge, repository = made
    for name in NAMES:
        _leave(forge.path(repository) / name)
    young = forge.path(repository) / "refs" / "heads" / "young.lock"
    _leave(young, age=1)

    assert sorted(locks.clear_all(forge.path(repository))) == sorted(NAMES)
    assert young.exists()


async def test_a_branch_is_created_and_held_although_a_killed_git_left_its_locks(
    made: tuple[LocalForge, Repository],
) -> None:
    forge, repository = made
    heads = forge.path(repository) / "refs" / "heads"
    (heads / "feature").mkdir()
    _leave(heads / "feature" / "x.lock")
    _leave(forge.path(repository) / "packed-refs.lock")

    head = await forge.create_branch(repository, "feature/x")

    _leave(heads / "feature" / "x.lock")
    async with forge.held(repository, "feature/x", head) as is_held:
        assert is_held


async def test_the_lock_of_a_running_git_stays(made: tuple[LocalForge, Repository]) -> None:
    forge, repository = made
    path = forge.path(repository)
    head = await forge.branch_head(repository, "main")
    assert head is not None
    async with hold(path, "refs/heads/main", head) as is_held:
        assert is_held
        lock = path / "refs" / "heads" / "main.lock"
        os.utime(lock, (0, 0))

        assert locks.clear_all(path) == []
        assert lock.exists()


async def test_a_killed_git_holds_no_lock(made: tuple[LocalForge, Repository]) -> None:
    forge, repository = made
    path = forge.path(repository)
    head = await forge.branch_head(repository, "main")
    process = await asyncio.create_subprocess_exec(
        *("git", f"--git-dir={path}", "update-ref", "--stdin"),
        stdin=asyncio.subprocess.PIPE,
        stdout=asyncio.subprocess.PIPE,
        env=git.environment(),
    )
    assert process.stdin is not None
    assert process.stdout is not None
    process.stdin.write(f"start\nverify refs/heads/main {head}\nprepare\n".encode())
    await process.stdout.readline()
    await process.stdout.readline()
    process.kill()
    await process.communicate()
    lock = path / "refs" / "heads" / "main.lock"
    assert lock.exists()
    os.utime(lock, (0, 0))

    assert locks.clear(path, ["refs/heads/main"]) == ["refs/heads/main.lock"]
