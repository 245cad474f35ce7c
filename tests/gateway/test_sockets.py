"""Gateway sockets open and close with the rows of their sandboxes."""

import asyncio
import stat
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager, suppress
from typing import Any

import pytest
from aiohttp import ClientError, ClientSession, web

from omoi_os.audit.trail import Trail
from omoi_os.bus.postgres import PostgresBus
from omoi_os.config import Settings
from omoi_os.db.base import Sessions
from omoi_os.errors import SetupError, UnknownSandboxToken
from omoi_os.gateway.callers import Callers
from omoi_os.gateway.server import serving
from omoi_os.gateway.sockets import MAX_CONNECTIONS, GatewaySockets
from omoi_os.masking import Masker
from omoi_os.sandboxes import repository, service
from omoi_os.sandboxes.lifecycle import SandboxState
from omoi_os.tasks.models import Task
from tests.conftest import NOON
from tests.gateway.conftest import OpenSocket, Start
from tests.gateway.places import GatewaySocket


class WatchedSockets(GatewaySockets):
    """GatewaySockets that report when they have processed one sandbox."""

    compared: asyncio.Queue[str]

    async def compare(self, sandbox_id: str | None = None) -> None:
        await super().compare(sandbox_id)
        if sandbox_id is not None:
            await self.compared.put(sandbox_id)


async def end(sessions: Sessions, bus: PostgresBus, gateway_socket: GatewaySocket) -> None:
    async with sessions.begin() as session:
        sandbox = await repository.lock(session, gateway_socket.sandbox.id)
        await service.end(session, bus, sandbox, state=SandboxState.STOPPED, reason="done", now=NOON)


@asynccontextmanager
async def keeping(settings: Settings, sessions: Sessions, bus: PostgresBus) -> AsyncIterator[WatchedSockets]:
    """GatewaySockets that follow the bus, with nothing behind them."""
    runner = web.AppRunner(web.Application())
    await runner.setup()
    callers = Callers(sessions, Trail(sessions, Masker()))
    gateway_sockets = WatchedSockets(
        settings.gateway_sockets_dir, runner, site=settings.site, sessions=sessions, callers=callers
    )
    gateway_sockets.compared = asyncio.Queue()
    opened = asyncio.Event()
    task = asyncio.create_task(gateway_sockets.keep(bus, opened))
    await opened.wait()
    try:
        yield gateway_sockets
    finally:
        task.cancel()
        await asyncio.gather(task, return_exceptions=True)
        await runner.cleanup()


async def status_of(gateway_socket: GatewaySocket, *, token: str | None = None) -> int:
    async with gateway_socket.client(token=token) as client:
        async with client.get("/api/v1/projects") as answer:
            assert answer.content_type == "application/problem+json"
            return answer.status


async def test_a_gateway_socket_opens_with_the_row_and_closes_with_its_end(
    settings: Settings, sessions: Sessions, bus: PostgresBus, open_socket: OpenSocket
) -> None:
    async with keeping(settings, sessions, bus) as gateway_sockets:
        gateway_socket = await open_socket()
        assert await gateway_sockets.compared.get() == gateway_socket.sandbox.id
        async with gateway_socket.client() as client:
            async with client.get("/") as answer:
                assert answer.status == 404

        await end(sessions, bus, gateway_socket)
        assert await gateway_sockets.compared.get() == gateway_socket.sandbox.id

    assert not gateway_socket.socket.parent.exists()


async def test_only_the_folders_above_keep_others_out(open_socket: OpenSocket, start: Start) -> None:
    gateway_socket = await open_socket()
    await start()

    assert stat.S_IMODE(gateway_socket.socket.stat().st_mode) == 0o666
    assert stat.S_IMODE(gateway_socket.socket.parent.stat().st_mode) == 0o755


async def test_a_sandbox_that_opens_too_many_connections_is_disconnected_and_others_are_not(
    open_socket: OpenSocket, start: Start
) -> None:
    greedy, other = await open_socket(), await open_socket()
    await start()
    held = []
    for _ in range(MAX_CONNECTIONS + 1):
        reader, writer = await asyncio.open_unix_connection(str(greedy.socket))
        writer.write(b"HEAD /api/hello HTTP/1.1\r\nHost: g\r\n\r\n")
        with suppress(ConnectionError):
            held.append((writer, await reader.readline()))

    assert {line for _, line in held[:MAX_CONNECTIONS]} == {b"HTTP/1.1 200 OK\r\n"}
    assert [line for _, line in held[MAX_CONNECTIONS:]] in ([], [b""])
    assert await status_of(other) == 403
    for writer, _ in held:
        writer.close()


async def test_a_restarted_gateway_reuses_the_socket_s_name(
    open_socket: OpenSocket, settings: Settings, database_url: str, bus: PostgresBus
) -> None:
    gateway_socket = await open_socket()
    async with serving(settings, database_url=database_url, bus=bus):
        assert await status_of(gateway_socket) == 403
    assert gateway_socket.socket.is_socket()
    with pytest.raises(ClientError):
        await status_of(gateway_socket)

    async with serving(settings, database_url=database_url, bus=bus):
        assert await status_of(gateway_socket) == 403
        assert [path.name for path in gateway_socket.socket.parent.iterdir()] == ["gateway.sock"]


async def test_sockets_of_sandboxes_that_ended_without_a_gateway_are_removed(
    open_socket: OpenSocket, settings: Settings, database_url: str, bus: PostgresBus, sessions: Sessions
) -> None:
    gateway_socket = await open_socket()
    async with serving(settings, database_url=database_url, bus=bus):
        pass
    await end(sessions, bus, gateway_socket)

    async with serving(settings, database_url=database_url, bus=bus):
        assert not gateway_socket.socket.parent.exists()


async def test_a_second_gateway_on_the_same_folder_is_refused(
    start: Start, settings: Settings, database_url: str, bus: PostgresBus
) -> None:
    await start()

    with pytest.raises(SetupError, match="another gateway"):
        async with serving(settings, database_url=database_url, bus=bus):
            pass


async def test_no_token_and_an_unknown_one_are_401_and_another_sandbox_s_is_404(
    open_socket: OpenSocket, start: Start
) -> None:
    gateway_socket, other = await open_socket(), await open_socket()
    await start()

    assert await status_of(gateway_socket, token="") == 401
    assert await status_of(gateway_socket, token="sbx_unknown") == 401
    async with gateway_socket.client() as client:
        headers = {"Authorization": "Bearer sbx_unknown"}
        async with client.get(f"{gateway_socket.own}/task", headers=headers) as answer:
            assert (await answer.json())["detail"] == str(UnknownSandboxToken())
    assert await status_of(gateway_socket, token=other.token) == 404
    assert await status_of(gateway_socket) == 403


async def ask_over_tcp(runner: web.AppRunner, gateway_socket: GatewaySocket) -> tuple[int, dict[str, Any]]:
    await web.TCPSite(runner, "127.0.0.1", 0).start()
    port = next(address[1] for address in runner.addresses if isinstance(address, tuple))
    headers = {"Authorization": f"Bearer {gateway_socket.token}"}
    async with ClientSession(headers=headers) as client:
        async with client.get(f"http://127.0.0.1:{port}{gateway_socket.own}/task") as answer:
            return answer.status, await answer.json(content_type=None)


async def test_over_tcp_the_token_alone_identifies_the_sandbox(open_socket: OpenSocket, start: Start) -> None:
    gateway_socket = await open_socket()

    assert await ask_over_tcp(await start(), gateway_socket) == (200, {})


async def test_the_token_of_an_ended_sandbox_is_stale(
    open_socket: OpenSocket, start: Start, sessions: Sessions, bus: PostgresBus
) -> None:
    gateway_socket = await open_socket()
    await end(sessions, bus, gateway_socket)

    status, problem = await ask_over_tcp(await start(), gateway_socket)

    assert (status, problem["code"]) == (409, "stale_fence")


async def test_the_token_of_a_superseded_attempt_is_stale(
    open_socket: OpenSocket, start: Start, sessions: Sessions
) -> None:
    gateway_socket = await open_socket()
    async with sessions.begin() as session:
        task = await session.get_one(Task, gateway_socket.task.id)
        task.fence += 1
    await start()

    assert await status_of(gateway_socket) == 409
