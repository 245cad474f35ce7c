"""A workspace with a prepared checkout, against a real git server."""

import os
import shutil
from pathlib import Path

import pytest

from omoi_os.forges import mirror_checkouts
from omoi_os.worker.repository.git import Repository
from tests.worker.conftest import BRANCH, TASK_ID, Worker, git
from tests.worker.platform import TOKEN
from tests.worker.repository.test_git import push


@pytest.fixture
def checkout(worker: Worker) -> Repository:
    return Repository(worker.paths, worker.assignment, TOKEN, dict(os.environ))


@pytest.fixture
async def workspace(checkout: Repository, repository: Path) -> Path:
    """The workspace as a provider prepares it."""
    git(repository, "clone", "--quiet", "--mirror", str(repository), str(checkout.paths.mirror))
    checkout.workspace.mkdir(exist_ok=True)
    await mirror_checkouts._check_out(
        checkout.workspace, mirror=repository, commit=git(repository, "rev-parse", "main")
    )
    alternates = checkout.workspace / ".git" / "objects" / "info" / "alternates"
    alternates.write_text(f"{checkout.paths.mirror}/objects\n")
    return checkout.workspace


async def test_a_prepared_checkout_is_switched_to_the_branch_and_no_file_is_written(
    checkout: Repository, workspace: Path, repository: Path
) -> None:
    before = (workspace / "README.md").stat()
    base = await checkout.check_out()

    after = (workspace / "README.md").stat()
    assert (after.st_ino, after.st_ctime_ns) == (before.st_ino, before.st_ctime_ns)
    assert base == git(repository, "rev-parse", BRANCH)
    assert git(workspace, "symbolic-ref", "HEAD") == f"refs/heads/{BRANCH}"
    assert git(workspace, "status", "--porcelain", "--branch") == f"## {BRANCH}...origin/{BRANCH}"
    assert git(workspace, "fsck") == ""
    assert not checkout.paths.prepared_file.exists()
    assert git(workspace, "count-objects") == "0 objects, 0 kilobytes"


async def test_a_branch_that_is_ahead_of_what_was_prepared_is_checked_out(
    checkout: Repository, workspace: Path, root: Path, repository: Path
) -> None:
    push(root / "seed", BRANCH, **{"newer": "than that\n", "README.md": "# Other\n"})
    await checkout.check_out()

    assert (workspace / "newer").read_text() == "than that\n"
    assert (workspace / "README.md").read_text() == "# Other\n"
    assert git(workspace, "status", "--porcelain") == ""

    (workspace / "mine").touch()
    await checkout.commit("Mine")
    await checkout.push()
    assert git(repository, "rev-parse", BRANCH) == await checkout.head()


async def test_unfinished_work_comes_on_top_of_what_was_prepared(
    checkout: Repository, workspace: Path, root: Path
) -> None:
    push(root / "seed", f"wip/{TASK_ID}", two="2\n")
    await checkout.check_out()

    assert (workspace / "two").read_text() == "2\n"


async def test_the_configuration_is_that_of_a_clone(checkout: Repository, workspace: Path, tmp_path: Path) -> None:
    await checkout.check_out()
    taken = set(git(workspace, "config", "--local", "--list").splitlines())
    shutil.rmtree(checkout.paths.mirror)
    checkout.paths.base_file.unlink()
    await checkout.check_out()

    assert taken - set(git(workspace, "config", "--local", "--list").splitlines()) == {"core.checkstat=minimal"}
    assert TOKEN not in "".join(taken)


@pytest.mark.parametrize("damage", ["index", "objects", "interrupted"])
async def test_a_prepared_checkout_that_is_of_no_use_is_replaced_by_a_clone(
    checkout: Repository, workspace: Path, root: Path, damage: str
) -> None:
    push(root / "seed", BRANCH, newer="than that\n")
    (workspace / "rubbish").touch()
    if damage == "index":
        (workspace / ".git" / "index").write_bytes(b"nonsense")
    elif damage == "objects":
        (workspace / ".git" / "objects" / "info" / "alternates").write_text("/nowhere\n")
        (workspace / ".git" / "HEAD").write_text("nonsense\n")
    else:
        checkout.paths.prepared_file.unlink()
    await checkout.check_out()

    assert sorted(path.name for path in workspace.iterdir()) == [".git", "README.md", "newer"]
    assert git(workspace, "status", "--porcelain") == ""
