"""Prepared checkouts, created by real git from a real repository."""

import subprocess
from pathlib import Path
from uuid import uuid4

import pytest

from omoi_os.forges import mirror_checkouts as checkouts
from omoi_os.forges.bare.folder_lock import locked
from omoi_os.forges.base import Repository
from omoi_os.forges.local.forge import LocalForge
from omoi_os.forges.mirrors import Mirrors
from omoi_os.protocol import paths
from omoi_os.providers import checkout_folder


def git(*arguments: str | Path, at: Path) -> str:
    command = ["git", "-c", "user.name=t", "-c", "user.email=t@t", *map(str, arguments)]
    return subprocess.run(command, cwd=at, check=True, capture_output=True, text=True).stdout.strip()


@pytest.fixture
def forge(tmp_path: Path) -> LocalForge:
    return LocalForge(tmp_path / "repos")


def mirrors_of(forge: LocalForge) -> Mirrors:
    return Mirrors(forge.root)


@pytest.fixture
def seed(tmp_path: Path) -> Path:
    """A repository that is large enough for a prepared checkout."""
    folder = tmp_path / "seed"
    folder.mkdir()
    git("init", "-q", "-b", "main", at=folder)
    for number in range(checkouts.MIN_FILES):
        (folder / f"{number}.txt").write_text(f"{number}\n")
    (folder / ".gitattributes").write_text("*.txt filter=evil\n")
    (folder / "run").write_text("#!/bin/sh\n")
    (folder / "run").chmod(0o755)
    (folder / "link").symlink_to("0.txt")
    commit(folder)
    return folder


@pytest.fixture
async def repository(forge: LocalForge, seed: Path) -> Repository:
    made = Repository(uuid4(), "kivo360", "OmoiOS", "main", str(seed))
    await forge.ensure_repository(made)
    return made


def commit(folder: Path) -> str:
    git("add", "-A", at=folder)
    git("commit", "-q", "-m", "change", at=folder)
    return git("rev-parse", "HEAD", at=folder)


def change(forge: LocalForge, repository: Repository, seed: Path, *, number: int = 0) -> str:
    """A commit on the default branch that changes one file."""
    (seed / f"{number}.txt").write_text("changed\n")
    made = commit(seed)
    git("push", "-q", forge.path(repository), "main", at=seed)
    return made


def versions(forge: LocalForge, repository: Repository) -> list[str]:
    folder = forge.root / f"{repository.project_id}.checkouts"
    return sorted(path.name for path in folder.iterdir() if path.is_dir() and not path.is_symlink())


async def prepared_by(forge: LocalForge, repository: Repository) -> Path:
    await mirrors_of(forge).prepare_checkout(repository)
    found = mirrors_of(forge).checkout(repository)
    assert found is not None
    return found


async def test_a_checkout_holds_the_default_branch_and_nothing_else(
    forge: LocalForge, repository: Repository, seed: Path
) -> None:
    git("push", "-q", forge.path(repository), "HEAD:refs/heads/wip/other", at=seed)

    tree = checkout_folder.tree_of(await prepared_by(forge, repository))

    assert sorted(path.name for path in tree.iterdir()) == sorted([".git", *git("ls-files", at=seed).splitlines()])
    assert (tree / "run").stat().st_mode & 0o111
    assert (tree / "link").readlink() == Path("0.txt")
    files = sorted(str(path.relative_to(tree / ".git")) for path in (tree / ".git").rglob("*") if path.is_file())
    assert files == ["HEAD", "config", "index", "objects/info/alternates", "omoi-prepared"]
    assert (tree / paths.PREPARED).read_text() == git("rev-parse", "main", at=seed)
    assert str(forge.root) not in "".join((tree / ".git" / name).read_text() for name in files if name != "index")


async def test_inside_git_finds_every_file_unchanged(forge: LocalForge, repository: Repository, tmp_path: Path) -> None:
    tree = checkout_folder.tree_of(await prepared_by(forge, repository))
    # As inside a sandbox, with the mirror at its path there.
    (tree / ".git" / "objects" / "info" / "alternates").write_text(f"{forge.path(repository)}/objects\n")

    assert git("status", "--porcelain", at=tree) == ""
    assert git("fsck", at=tree) == ""


async def test_an_unused_checkout_is_brought_up_to_date_in_place(
    forge: LocalForge, repository: Repository, seed: Path
) -> None:
    old = await prepared_by(forge, repository)
    kept = (checkout_folder.tree_of(old) / "1.txt").stat()
    made = change(forge, repository, seed)

    new = await prepared_by(forge, repository)

    assert (checkout_folder.tree_of(new) / "0.txt").read_text() == "changed\n"
    assert (checkout_folder.tree_of(new) / "1.txt").stat().st_ino == kept.st_ino
    assert (checkout_folder.tree_of(new) / paths.PREPARED).read_text() == made
    assert versions(forge, repository) == [new.name]


async def test_a_checkout_in_use_stays_as_it_is_until_its_sandbox_is_gone(
    forge: LocalForge, repository: Repository, seed: Path, tmp_path: Path
) -> None:
    old = await prepared_by(forge, repository)
    sandbox = tmp_path / "omoios-1"
    sandbox.mkdir()
    assert checkout_folder.use(old, sandbox)
    change(forge, repository, seed)

    new = await prepared_by(forge, repository)

    assert new != old
    assert (checkout_folder.tree_of(old) / "0.txt").read_text() == "0\n"
    assert (checkout_folder.tree_of(new) / "0.txt").read_text() == "changed\n"
    assert versions(forge, repository) == sorted([old.name, new.name])

    sandbox.rmdir()
    await mirrors_of(forge).prepare_checkout(repository)

    assert versions(forge, repository) == [new.name]


async def test_an_up_to_date_checkout_is_left_alone(forge: LocalForge, repository: Repository) -> None:
    assert await prepared_by(forge, repository) == await prepared_by(forge, repository)


async def test_a_checkout_that_a_kill_left_incomplete_is_removed(forge: LocalForge, repository: Repository) -> None:
    folder = forge.root / f"{repository.project_id}.checkouts"
    (folder / ".new-1" / "tree").mkdir(parents=True)
    (folder / ".new-link").symlink_to("nowhere")

    made = await prepared_by(forge, repository)

    assert versions(forge, repository) == [made.name]


async def test_one_process_at_a_time_prepares_a_checkout(forge: LocalForge, repository: Repository) -> None:
    folder = forge.root / f"{repository.project_id}.checkouts"
    folder.mkdir()
    with locked(folder) as held:
        assert held
        await mirrors_of(forge).prepare_checkout(repository)

    assert mirrors_of(forge).checkout(repository) is None
    assert (await prepared_by(forge, repository)).is_dir()


async def test_a_small_repository_gets_no_checkout(forge: LocalForge) -> None:
    repository = Repository(uuid4(), None, None, "main")
    await forge.ensure_repository(repository)

    await mirrors_of(forge).prepare_checkout(repository)

    assert mirrors_of(forge).checkout(repository) is None
    assert versions(forge, repository) == []


async def test_a_repository_that_shrinks_loses_its_checkout(
    forge: LocalForge, repository: Repository, seed: Path
) -> None:
    await prepared_by(forge, repository)
    git("rm", "-q", "*.txt", at=seed)
    change(forge, repository, seed)

    await mirrors_of(forge).prepare_checkout(repository)

    assert mirrors_of(forge).checkout(repository) is None
    assert versions(forge, repository) == []


async def test_an_endless_tree_is_not_checked_out(forge: LocalForge, repository: Repository, seed: Path) -> None:
    tree = git("rev-parse", "HEAD^{tree}", at=seed)
    for _ in range(6):
        lines = "".join(f"040000 tree {tree}\t{name}\n" for name in "abcdefghij")
        command = ["git", "mktree"]
        made = subprocess.run(command, cwd=seed, input=lines, check=True, capture_output=True, text=True)  # noqa: ASYNC221
        tree = made.stdout.strip()
    bomb = git("commit-tree", "-m", "bomb", "-p", "HEAD", tree, at=seed)
    git("push", "-q", forge.path(repository), f"{bomb}:main", at=seed)

    await mirrors_of(forge).prepare_checkout(repository)

    assert mirrors_of(forge).checkout(repository) is None
