"""The sandbox and the hosts on either side of the gateway."""

import asyncio
import json
from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import asynccontextmanager, suppress
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from aiohttp import ClientSession, UnixConnector, web
from multidict import CIMultiDict

from omoi_os.config import Settings
from omoi_os.projects.models import Project
from omoi_os.sandboxes.models import Sandbox
from omoi_os.tasks.models import Task


@dataclass
class Asked:
    """One request as a host received it."""

    method: str
    path: str
    headers: CIMultiDict[str]
    body: bytes


async def _nothing(_request: web.Request) -> web.StreamResponse:
    return web.json_response({})


@dataclass
class Host:
    """A server behind the gateway: records requests and answers as the test wants."""

    answer: Callable[[web.Request], Awaitable[web.StreamResponse]] = _nothing
    url: str = ""
    asked: list[Asked] = field(default_factory=list)

    async def handle(self, request: web.Request) -> web.StreamResponse:
        headers = CIMultiDict(request.headers)
        self.asked.append(Asked(request.method, request.path_qs, headers, await request.read()))
        return await self.answer(request)


@dataclass
class GatewaySocket:
    """A sandbox, seen from inside."""

    settings: Settings
    project: Project
    task: Task
    sandbox: Sandbox
    token: str

    @property
    def socket(self) -> Path:
        return self.settings.gateway_sockets_dir / self.sandbox.id / "gateway.sock"

    @property
    def own(self) -> str:
        """The path of its calls to the API."""
        return f"/api/v1/sandboxes/{self.sandbox.id}"

    def client(self, *, token: str | None = None, **headers: str) -> ClientSession:
        """Return a client of this gateway socket, with its own token or another."""
        sent = {"Authorization": f"Bearer {self.token if token is None else token}", **headers}
        if token == "":
            del sent["Authorization"]
        connector = UnixConnector(path=str(self.socket))
        return ClientSession("http://gateway", connector=connector, headers=sent)

    @asynccontextmanager
    async def port(self) -> AsyncIterator[str]:
        """A loopback address that leads to the gateway socket, as a sandbox has one for programs that need it."""
        server = await asyncio.start_server(self._forward, "127.0.0.1", 0)
        try:
            yield f"http://127.0.0.1:{server.sockets[0].getsockname()[1]}"
        finally:
            server.close()

    async def _forward(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        upstream_reader, upstream_writer = await asyncio.open_unix_connection(str(self.socket))
        await asyncio.gather(_copy(reader, upstream_writer), _copy(upstream_reader, writer))


async def _copy(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
    with suppress(ConnectionError):
        while data := await reader.read(65536):
            writer.write(data)
            await writer.drain()
    writer.close()
    with suppress(ConnectionError):
        await writer.wait_closed()


def sse(*events: dict[str, Any]) -> list[bytes]:
    """Events of a stream, one chunk each."""
    return [f"event: {event['type']}\ndata: {json.dumps(event)}\n\n".encode() for event in events]
