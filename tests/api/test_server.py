"""The API as a server on a real socket."""

import asyncio
import os
import signal
import socket
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path

import httpx
import pytest

from omoi_os.accounts.admin_token import ensure_admin_token
from omoi_os.api.server import DRAIN_SECONDS, run
from omoi_os.bus.memory import MemoryBus
from omoi_os.config import Settings, load_settings
from omoi_os.db.base import Sessions
from omoi_os.errors import SetupError
from tests.builders import a_work_sandbox
from tests.conftest import NOON


def free_port() -> int:
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        port: int = probe.getsockname()[1]
        return port


@pytest.fixture
def served(short_tmp: Path, database_url: str) -> Settings:
    return load_settings(
        environ={}, config_dir=short_tmp, data_dir=short_tmp, database_url=database_url, port=free_port()
    )


@asynccontextmanager
async def running(settings: Settings) -> AsyncIterator[asyncio.Task[None]]:
    """The server, stopped by a signal in the end. It listens from its first step on."""
    task = asyncio.create_task(run(settings))
    await asyncio.sleep(0)
    try:
        yield task
    finally:
        if not task.done():
            os.kill(os.getpid(), signal.SIGTERM)
        await asyncio.wait_for(task, 15)


def client_of(settings: Settings) -> httpx.AsyncClient:
    headers = {"Authorization": f"Bearer {ensure_admin_token(settings)}"}
    return httpx.AsyncClient(base_url=settings.effective_api_url, headers=headers, timeout=30)


async def test_a_new_server_knows_its_administrator(served: Settings) -> None:
    async with running(served), client_of(served) as admin:
        assert (await admin.get("/ready")).status_code == 200
        made = await admin.post("/api/v1/projects", json={"name": "x"})
        users = (await admin.get("/api/v1/users")).json()["items"]

    assert made.status_code == 201
    assert [(user["email"], user["role"]) for user in users] == [("admin@localhost", "admin")]
    assert "server" not in made.headers


async def test_a_restart_keeps_what_there_was(served: Settings) -> None:
    async with running(served), client_of(served) as admin:
        await admin.post("/api/v1/projects", json={"name": "x"})
    async with running(served), client_of(served) as admin:
        assert [item["name"] for item in (await admin.get("/api/v1/projects")).json()["items"]] == ["x"]


async def test_a_large_body_is_refused_over_a_real_socket(served: Settings) -> None:
    async def endless() -> AsyncIterator[bytes]:
        for _ in range(10_000):
            yield b" " * 65536

    async with running(served), client_of(served) as admin:
        declared = await admin.post("/api/v1/projects", json={"name": "x" * 10_000_000})
        headers = {"Content-Type": "application/json"}
        chunked = await admin.post("/api/v1/projects", content=endless(), headers=headers)
        assert (declared.status_code, chunked.status_code) == (413, 413)
        assert (await admin.get("/health")).status_code == 200


async def test_a_request_under_way_is_answered_before_the_server_stops(served: Settings) -> None:
    body = b'{"name": "last words"}'
    head = (
        f"POST /api/v1/projects HTTP/1.1\r\nHost: localhost\r\nContent-Length: {len(body)}\r\n"
        f"Content-Type: application/json\r\nAuthorization: Bearer {ensure_admin_token(served)}\r\n\r\n"
    )
    async with running(served) as server:
        async with client_of(served) as admin:
            await admin.get("/ready")
        reader, writer = await asyncio.open_connection(served.host, served.port)
        writer.write(head.encode() + body[:5])
        async with client_of(served) as admin:
            await admin.get("/health")
        os.kill(os.getpid(), signal.SIGTERM)
        while True:
            try:
                _, probe = await asyncio.open_connection(served.host, served.port)
            except OSError:
                break
            probe.close()
        writer.write(body[5:])
        answer = await asyncio.wait_for(reader.read(), 10)
        await asyncio.wait_for(server, 10)
        writer.close()

    assert answer.startswith(b"HTTP/1.1 201")


async def test_a_worker_that_waits_for_messages_does_not_hold_up_the_stop(served: Settings, sessions: Sessions) -> None:
    async with sessions.begin() as session:
        sandbox, token = await a_work_sandbox(session, MemoryBus(), now=NOON)
    path, headers = f"/api/v1/sandboxes/{sandbox.id}/messages", {"Authorization": f"Bearer {token}"}
    async with client_of(served) as worker, running(served) as server:
        await worker.get(path, headers=headers)
        polling = asyncio.create_task(worker.get(path, params={"wait": 60}, headers=headers))
        await worker.get(path, params={"wait": 0.1}, headers=headers)
        os.kill(os.getpid(), signal.SIGTERM)

        answer = await asyncio.wait_for(polling, DRAIN_SECONDS / 2)
        await asyncio.wait_for(server, DRAIN_SECONDS / 2)

    assert (answer.status_code, answer.json()) == (200, {"items": []})


async def test_a_taken_port_is_named_with_its_remedy(served: Settings) -> None:
    with socket.socket() as other:
        other.bind((served.host, served.port))
        other.listen()
        with pytest.raises(SetupError, match="OMOI_PORT"):
            await run(served)
