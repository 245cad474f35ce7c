"""After a power cut, everything that was acknowledged before it is on disk."""

import json
import os
import signal
import subprocess
from collections.abc import Iterator
from datetime import timedelta
from pathlib import Path

import pytest

from omoi_os.accounts.admin_token import ensure_admin_token
from omoi_os.config import Settings, load_settings
from omoi_os.forges.bare import git
from omoi_os.forges.local.forge import LocalForge
from omoi_os.projects.addresses import repository_of
from omoi_os.providers.base import EndReason, Resources, SandboxSpec
from omoi_os.providers.local.host.provider import LocalProvider
from omoi_os.system import durable
from tests.faults.power import Disk, a_disk, needs_power
from tests.gateway.conftest import OpenSocket
from tests.gateway.git.test_routes import Workspace, forge, workspace

__all__ = ["forge", "workspace"]

pytestmark = needs_power


@pytest.fixture
def disk() -> Iterator[Disk]:
    with a_disk() as made:
        yield made


@pytest.fixture
def short_tmp(disk: Disk) -> Path:
    """The data folder is on the disk."""
    return disk.path


@pytest.fixture(params=["synced", "unsynced"])
def promises(request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch) -> bool:
    """Whether data is synced; without syncing the tests must see a loss."""
    if request.param == "unsynced":
        monkeypatch.setattr(git, "DURABLE_CONFIG", {"core.fsync": "none"})
        monkeypatch.setattr(durable, "sync", lambda *_: None)
        monkeypatch.setattr(durable.os, "fsync", lambda _: None)  # type: ignore[attr-defined]
    return bool(request.param == "synced")


def _ask(repository: Path, *arguments: str) -> tuple[int, str]:
    command = ["git", "-c", "safe.directory=*", f"--git-dir={repository}", *arguments]
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    return done.returncode, done.stdout.strip()


def _is_kept(repository: Path, branch: str, commit: str) -> bool:
    whole, _ = _ask(repository, "fsck", "--full")
    there, head = _ask(repository, "rev-parse", "--verify", "-q", f"refs/heads/{branch}")
    readable, _ = _ask(repository, "cat-file", "commit", commit)
    return (whole, there, head, readable) == (0, 0, commit, 0)


@pytest.mark.parametrize("pushes", [1, 3])
async def test_an_acknowledged_push_survives(promises: bool, workspace: Workspace, disk: Disk, pushes: int) -> None:
    for number in range(pushes):
        commit = await workspace.commit("file.txt", f"content {number}\n" * 100)
        code, output = await workspace.git("push", "-q", "origin", workspace.branch)
        assert (code, output) == (0, "")

    disk.cut()

    name = workspace.forge.path(repository_of(workspace.gateway_socket.project)).relative_to(disk.path)
    with disk.remains() as left:
        assert _is_kept(left / name, workspace.branch, commit) is promises


async def test_a_created_repository_and_branch_survive(
    promises: bool, open_socket: OpenSocket, settings: Settings, disk: Disk
) -> None:
    made = LocalForge(settings.repositories_dir)
    gateway_socket = await open_socket()
    repository = repository_of(gateway_socket.project)
    await made.ensure_repository(repository)
    head = await made.create_branch(repository, "feature/x", task_id=gateway_socket.task.id)

    disk.cut()

    with disk.remains() as left:
        assert _is_kept(left / made.path(repository).relative_to(disk.path), "feature/x", head) is promises


def test_the_first_administrators_token_survives(promises: bool, disk: Disk) -> None:
    data_dir = disk.path / "data"
    token = ensure_admin_token(load_settings(environ={}, data_dir=data_dir))

    disk.cut()

    with disk.remains() as left:
        kept = left / "data" / "admin-token"
        assert (kept.exists() and kept.read_text().strip() == token) is promises


async def test_a_sandboxs_documents_survive(disk: Disk) -> None:
    provider = LocalProvider(disk.path / "sandboxes")
    limits = Resources(256 << 20, 1, 64, 16 << 20)
    spec = SandboxSpec("omoios-cut", "tests", ["true"], {"PATH": "/usr/bin:/bin"}, limits, timedelta(minutes=5))
    # Its supervisor is another process, in which nothing is patched.
    ref = await provider.create(spec)
    report = await provider.inspect(ref, wait=timedelta(seconds=60))
    assert report.reason == EndReason.EXITED
    supervisor = json.loads((disk.path / "sandboxes" / ref / "state.json").read_text())["supervisor"]
    (disk.path / "late").write_text("not promised")

    disk.cut()

    with disk.remains() as left:
        assert not (left / "late").exists() or not (left / "late").read_text()
        for name in ("spec.json", "state.json", "exit.json"):
            assert json.loads((left / "sandboxes" / ref / name).read_text())
    os.kill(int(supervisor.split()[0]), signal.SIGKILL)
