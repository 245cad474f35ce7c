"""Garbage collection of repositories: replaced history is removed, everything in use stays."""

import os
import time
from datetime import timedelta
from pathlib import Path

import pytest

from omoi_os.errors import ForgeError
from omoi_os.forges.bare import gc, git
from omoi_os.forges.bare.folder_lock import locked
from omoi_os.forges.local.forge import LocalForge
from tests.forges.local.test_forge import a_repository

NOW = timedelta(0)
DAY = timedelta(days=1)
WIP = "refs/heads/wip/task"


@pytest.fixture
async def repository(tmp_path: Path) -> Path:
    forge = LocalForge(tmp_path / "repos")
    made = a_repository()
    await forge.ensure_repository(made)
    return forge.path(made)


@pytest.fixture
def no_checkouts(tmp_path: Path) -> Path:
    return tmp_path / "no-checkouts"


async def a_commit(repository: Path, *, size: int = 2 << 20) -> str:
    """Write a commit that is on no branch, with content that cannot be compressed."""
    blob = await git.run("hash-object", "-w", "--stdin", git_dir=repository, stdin=os.urandom(size))
    tree = await git.run("mktree", git_dir=repository, stdin=f"100644 blob {blob}\tfile\n".encode())
    return await git.run("commit-tree", "-m", "work", tree, git_dir=repository)


async def push(repository: Path, ref: str, commit: str) -> None:
    """Move a ref with the configuration that the gateway uses."""
    variables = git.environment({**git.SAFE_CONFIG, **gc.KEEP_REPLACED})
    await git.run("update-ref", ref, commit, git_dir=repository, variables=variables)


async def has(repository: Path, commit: str) -> bool:
    try:
        await git.run("cat-file", "-e", f"{commit}^{{tree}}", git_dir=repository)
    except ForgeError:
        return False
    return True


def make_due(repository: Path, *, age: timedelta = 2 * DAY) -> None:
    """Pretend that the last collection was that long ago and left little."""
    mark = repository / "omoi-gc"
    mark.write_text("0")
    moment = time.time() - age.total_seconds()
    os.utime(mark, (moment, moment))


async def test_replaced_history_is_removed_after_the_grace_period(repository: Path, no_checkouts: Path) -> None:
    replaced, kept = await a_commit(repository), await a_commit(repository)
    await push(repository, WIP, replaced)
    await push(repository, WIP, kept)
    before = await gc.measure(repository)

    left = await gc.collect(repository, checkouts=no_checkouts, grace=NOW)

    assert left is not None
    assert before.size - left.size > 1 << 20
    assert (await has(repository, replaced), await has(repository, kept)) == (False, True)
    await git.run("fsck", "--full", "--strict", git_dir=repository)


async def test_recently_replaced_history_stays_for_sandboxes_that_borrow_it(
    repository: Path, no_checkouts: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    replaced = await a_commit(repository)
    await push(repository, WIP, replaced)
    await push(repository, WIP, await a_commit(repository))
    # Its objects are old, but it was replaced recently.
    for path in (repository / "objects").rglob("*"):
        if path.is_file():
            os.utime(path, (0, 0))
    make_due(repository)
    monkeypatch.setattr(gc, "MIN_GROWTH_BYTES", 0)

    assert await gc.collect(repository, checkouts=no_checkouts, grace=DAY) is not None

    assert await has(repository, replaced)


async def test_the_commit_of_a_prepared_checkout_stays(
    repository: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(gc, "MIN_GROWTH_BYTES", 0)
    used, unused = await a_commit(repository), await a_commit(repository)
    checkouts = tmp_path / "checkouts"
    (checkouts / f"{used}-0123abcd").mkdir(parents=True)

    await gc.collect(repository, checkouts=checkouts, grace=NOW)

    assert (await has(repository, used), await has(repository, unused)) == (True, False)

    (checkouts / f"{used}-0123abcd").rmdir()
    make_due(repository)
    await gc.collect(repository, checkouts=checkouts, grace=NOW)
    assert await git.run("for-each-ref", "refs/omoi/checkouts", git_dir=repository) == ""


async def test_nothing_is_collected_while_little_has_accumulated(repository: Path, no_checkouts: Path) -> None:
    make_due(repository)

    assert await gc.collect(repository, checkouts=no_checkouts, grace=DAY) is None


async def test_nothing_is_removed_before_replaced_history_has_been_logged_for_long_enough(
    repository: Path, no_checkouts: Path
) -> None:
    """A repository of an earlier version has no log of replaced history."""
    unlogged = await a_commit(repository, size=gc.MIN_GROWTH_BYTES + 1)

    assert await gc.collect(repository, checkouts=no_checkouts, grace=DAY) is None
    assert await gc.collect(repository, checkouts=no_checkouts, grace=DAY) is None

    assert await has(repository, unlogged)


async def test_two_orchestrators_do_not_collect_at_the_same_time(repository: Path, no_checkouts: Path) -> None:
    with locked(repository) as held:
        assert held
        assert await gc.collect(repository, checkouts=no_checkouts, grace=NOW) is None
