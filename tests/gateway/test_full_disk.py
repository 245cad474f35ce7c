"""On a full disk model calls and pushes are held back; they continue when there is space."""

import asyncio
from pathlib import Path

import pytest

from omoi_os.forges.local.forge import LocalForge
from omoi_os.gateway import full_disk as space
from omoi_os.projects.addresses import repository_of
from tests.faults.test_disk_full import fill, small_disk
from tests.gateway.answers import BODY, STREAM, streaming
from tests.gateway.conftest import OpenSocket, Start
from tests.gateway.git.test_routes import Workspace
from tests.gateway.places import Host

__all__ = ["small_disk"]

#: How long a call that is held back is watched.
HELD_SECONDS = 2.0


@pytest.fixture
def short_tmp(small_disk: Path) -> Path:
    """The gateway's data folder is a small disk."""
    return small_disk


async def test_a_model_call_waits_while_the_disk_is_full(
    open_socket: OpenSocket, start: Start, model: Host, small_disk: Path
) -> None:
    gateway_socket = await open_socket()
    await start()
    model.answer = streaming(*STREAM)

    async def call() -> int:
        async with gateway_socket.client() as client, client.post("/v1/messages", json=BODY) as answer:
            await answer.read()
            return answer.status

    filler = fill(small_disk)
    calling = asyncio.create_task(call())
    done, _ = await asyncio.wait({calling}, timeout=HELD_SECONDS)
    assert (done, model.asked) == (set(), [])
    filler.unlink()

    assert await calling == 200
    assert len(model.asked) == 1


async def test_a_push_waits_while_the_disk_is_full(
    open_socket: OpenSocket, start: Start, small_disk: Path, tmp_path: Path
) -> None:
    gateway_socket = await open_socket()
    await start()
    forge, repository = LocalForge(small_disk / "repos"), repository_of(gateway_socket.project)
    await forge.ensure_repository(repository)
    await forge.create_branch(repository, gateway_socket.task.branch_name or "")
    async with gateway_socket.port() as base:
        made = Workspace(gateway_socket, base, tmp_path, forge)
        assert (await made.git("clone", "-q", "-b", made.branch, made.url, "work"))[0] == 0
        made.folder = tmp_path / "work"
        commit = await made.commit("new.txt", "new")
        filler = fill(small_disk)
        pushing = asyncio.create_task(made.git("push", "-q", "origin", "HEAD"))
        assert (await asyncio.wait({pushing}, timeout=HELD_SECONDS))[0] == set()
        filler.unlink()

        assert (await pushing)[0] == 0
        assert await made.head(made.branch) == commit


async def test_a_call_that_was_held_for_long_is_answered_with_the_reason(
    open_socket: OpenSocket, start: Start, model: Host, small_disk: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(space, "HOLD_SECONDS", 0.0)
    gateway_socket = await open_socket()
    await start()
    fill(small_disk)

    async with gateway_socket.client() as client, client.post("/v1/messages", json=BODY) as answer:
        error = (await answer.json())["error"]

    assert answer.status == 507
    assert f"the disk of {small_disk} is full" in error["message"]
    # The agent's CLI tries again.
    assert "x-should-retry" not in answer.headers
    assert model.asked == []
