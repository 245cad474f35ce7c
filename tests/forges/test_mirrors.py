"""Mirrors: found, opened and cleaned up, also after a kill in the middle of a clone."""

import asyncio
import os
import signal
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from omoi_os.errors import NotFound
from omoi_os.forges.bare.folder_lock import locked
from omoi_os.forges.base import Repository
from omoi_os.forges.local.forge import LocalForge
from omoi_os.forges.mirrors import Mirrors, remove_unfinished
from tests.forges.local.test_forge import a_repository, a_seed

PROGRAM = """
import asyncio, sys, uuid
from pathlib import Path
from omoi_os.forges.base import Repository
from omoi_os.forges.local.forge import LocalForge
root, project, seed = sys.argv[1:]
asyncio.run(LocalForge(Path(root)).ensure_repository(Repository(uuid.UUID(project), None, None, "main", seed)))
"""


def until(what: str, look: Callable[[], bool], *, seconds: float = 60) -> None:
    deadline = time.monotonic() + seconds
    while not look():
        assert time.monotonic() < deadline, f"waited {seconds:g} s for {what}"
        time.sleep(0.02)


def gits(folder: Path) -> list[int]:
    """Return the git processes that name a folder in their command line or environment."""
    found = []
    for process in Path("/proc").glob("[0-9]*"):
        try:
            command, environ = (process / "cmdline").read_bytes(), (process / "environ").read_bytes()
        except OSError:
            continue
        if command.startswith(b"git") and (os.fsencode(folder) in command or os.fsencode(folder) in environ):
            found.append(int(process.name))
    return found


@pytest.fixture
def endless_seed(tmp_path: Path) -> Path:
    """A repository whose clone never ends: one of its objects is a pipe without a writer."""
    seed = a_seed(tmp_path / "seed")
    name = subprocess.run(
        ["git", "rev-parse", "HEAD:hello.txt"], cwd=seed, check=True, capture_output=True, text=True
    ).stdout.strip()
    loose = seed / ".git" / "objects" / name[:2] / name[2:]
    loose.unlink()
    os.mkfifo(loose)
    return seed


@pytest.fixture
def cloning(tmp_path: Path, endless_seed: Path) -> Iterator[tuple[subprocess.Popen[bytes], LocalForge, Repository]]:
    """A process in the middle of the clone of that repository."""
    forge, repository = LocalForge(tmp_path / "repos"), a_repository(seed=endless_seed)
    arguments = [str(forge.root), str(repository.project_id), str(endless_seed)]
    with subprocess.Popen([sys.executable, "-c", PROGRAM, *arguments]) as process:
        try:
            until("upload-pack to read the seed", lambda: len(gits(tmp_path)) >= 2)
            yield process, forge, repository
        finally:
            process.kill()
            for pid in gits(tmp_path):
                os.kill(pid, signal.SIGKILL)


def test_a_clone_ends_with_its_orchestrator_and_leaves_nothing_behind(
    tmp_path: Path, cloning: tuple[subprocess.Popen[bytes], LocalForge, Repository]
) -> None:
    process, forge, repository = cloning
    remove_unfinished(forge.root)
    assert list(forge.root.glob(f".{repository.project_id}.*")), "what is being made is left alone"
    clone = [pid for pid in gits(tmp_path) if b"clone" in Path(f"/proc/{pid}/cmdline").read_bytes()]
    assert clone

    process.kill()
    process.wait()

    until("the clone to end", lambda: not set(clone) & set(gits(tmp_path)))
    remove_unfinished(forge.root)
    until("its children to end", lambda: not gits(tmp_path))
    remove_unfinished(forge.root)
    assert list(forge.root.iterdir()) == []


async def test_an_incomplete_checkout_is_removed_unless_a_process_is_creating_it(tmp_path: Path) -> None:
    forge, repository = LocalForge(tmp_path / "repos"), a_repository()
    await forge.ensure_repository(repository)
    folder = forge.root / f"{repository.project_id}.checkouts"
    left = folder / ".new-1234" / "tree"
    left.mkdir(parents=True)
    (left / "file").write_text("half")

    with locked(folder):
        await asyncio.to_thread(remove_unfinished, forge.root)
        assert left.exists()
    await asyncio.to_thread(remove_unfinished, forge.root)

    assert list(folder.iterdir()) == []


async def test_a_repository_of_the_local_forge_is_its_own_mirror(tmp_path: Path) -> None:
    forge, repository = LocalForge(tmp_path / "repos"), a_repository()
    mirrors = Mirrors(forge.root)

    assert mirrors.find(repository) is None
    with pytest.raises(NotFound, match="has not been created yet"):
        await mirrors.open(repository)
    assert await mirrors.damage(repository) is None

    await forge.ensure_repository(repository)

    assert await mirrors.open(repository) == mirrors.find(repository) == forge.path(repository)
