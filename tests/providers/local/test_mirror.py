"""A mirror of the repository, bound into a local sandbox for quick clones."""

import os
import subprocess
from collections.abc import Callable
from datetime import timedelta
from pathlib import Path

import pytest

from omoi_os.errors import ProviderError
from omoi_os.protocol import paths
from omoi_os.providers.base import SandboxSpec
from omoi_os.providers.local.host.provider import LocalProvider

SOON = timedelta(seconds=30)

MakeSpec = Callable[..., SandboxSpec]


def git(*arguments: str | Path) -> None:
    identity = ["-c", "user.name=a", "-c", "user.email=a@b"]
    subprocess.run(["git", *identity, *map(str, arguments)], check=True, capture_output=True)


@pytest.fixture
def mirror(tmp_path: Path) -> Path:
    """A bare repository below a folder that only we may enter."""
    work = tmp_path / "work"
    git("init", "-q", work)
    (work / "file").write_bytes(os.urandom(100_000))
    git("-C", work, "add", "-A")
    git("-C", work, "commit", "-qm", "first")
    closed = tmp_path / "mirrors"
    closed.mkdir(mode=0o700)
    git("clone", "-q", "--bare", work, closed / "one.git")
    return closed / "one.git"


async def test_a_mirror_below_a_closed_folder_can_be_read_borrowed_from_and_not_written(
    provider: LocalProvider, make_spec: MakeSpec, mirror: Path
) -> None:
    ref = await provider.create(make_spec(mirror=mirror))
    borrow = (
        "set -e; git init -q /workspace/r; cd /workspace/r; "
        f"echo {paths.MIRROR}/objects > .git/objects/info/alternates; "
        f"git reset -q --hard $(cat {paths.MIRROR}/refs/heads/* {paths.MIRROR}/packed-refs 2>/dev/null"
        " | grep -oE '^[0-9a-f]{40}' | head -1); wc -c < file; git count-objects"
    )

    borrowed = await provider.exec(ref, ["sh", "-c", borrow], timeout=SOON)
    written = await provider.exec(ref, ["touch", f"{paths.MIRROR}/HEAD"], timeout=SOON)

    assert borrowed.stdout.split(b"\n")[:2] == [b"100000", b"0 objects, 0 kilobytes"], borrowed.stderr
    assert written.exit_code != 0
    assert b"Read-only" in written.stderr or b"Permission" in written.stderr


async def test_without_a_mirror_there_is_none_inside(provider: LocalProvider, make_spec: MakeSpec) -> None:
    ref = await provider.create(make_spec())

    assert (await provider.exec(ref, ["test", "-e", paths.MIRROR], timeout=SOON)).exit_code == 1


async def test_a_missing_mirror_is_refused_at_once(
    provider: LocalProvider, make_spec: MakeSpec, tmp_path: Path
) -> None:
    with pytest.raises(ProviderError, match="not a folder"):
        await provider.create(make_spec(mirror=tmp_path / "missing"))
