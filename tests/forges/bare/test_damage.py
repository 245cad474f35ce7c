"""Damage by a power cut is found; a whole repository is never reported."""

from collections.abc import Callable
from pathlib import Path
from uuid import uuid4

import pytest

from omoi_os.forges.bare import damage, git
from omoi_os.forges.base import Repository
from omoi_os.forges.local.forge import LocalForge

Harm = Callable[[Path], None]


@pytest.fixture
async def repository(tmp_path: Path) -> Path:
    forge = LocalForge(tmp_path)
    made = Repository(uuid4(), None, None, "main")
    await forge.ensure_repository(made)
    await forge.create_branch(made, "feature/x")
    return forge.path(made)


def _objects(path: Path) -> list[Path]:
    return sorted(file for file in (path / "objects").glob("??/*"))


def _empty_object(path: Path) -> None:
    for file in _objects(path):
        file.chmod(0o600)
        file.write_bytes(b"")


def _zeroed_object(path: Path) -> None:
    for file in _objects(path):
        file.chmod(0o600)
        file.write_bytes(b"\0" * file.stat().st_size)


def _lost_object(path: Path) -> None:
    for file in _objects(path):
        file.unlink()


def _empty(name: str) -> Harm:
    def harm(path: Path) -> None:
        (path / name).write_bytes(b"")

    return harm


HARM: dict[str, Harm] = {
    "an empty object": _empty_object,
    "an object of zeros": _zeroed_object,
    "a lost object": _lost_object,
    "an emptied main": _empty("refs/heads/main"),
    "an emptied branch": _empty("refs/heads/feature/x"),
    "an emptied HEAD": _empty("HEAD"),
}


async def test_a_whole_repository_is_not_damaged(repository: Path) -> None:
    assert await damage.find(repository) is None
    await git.run("gc", "--quiet", git_dir=repository)
    assert await damage.find(repository) is None


@pytest.mark.parametrize("harm", HARM.values(), ids=HARM)
async def test_damage_is_named(repository: Path, harm: Harm) -> None:
    harm(repository)

    assert await damage.find(repository)


async def test_an_empty_pack_is_named(repository: Path) -> None:
    await git.run("gc", "--quiet", git_dir=repository)
    for pack in (repository / "objects" / "pack").glob("*.pack"):
        pack.chmod(0o600)
        pack.write_bytes(b"")

    assert ".pack is empty" in str(await damage.find(repository))
