"""A loopback server that speaks the part of Daytona's API that is used, with sandboxes of bubblewrap."""

import asyncio
import json
import re
import sys
from collections.abc import Awaitable, Callable
from dataclasses import dataclass, field
from datetime import timedelta
from pathlib import Path

from aiohttp import web

from omoi_os.protocol import paths
from omoi_os.providers.base import Resources, SandboxRef, SandboxSpec
from omoi_os.providers.local.host.provider import LocalProvider
from tests.providers.daytona import gateway_listener, toolbox
from tests.providers.daytona.records import Age, Record

API_KEY = "dtn_tests"
GIBIBYTE = 1024**3

#: What a snapshot gives: CPUs, memory and disk in GiB.
SNAPSHOT = (1, 1, 2)
#: What a sandbox really gets for each GiB of disk, so that tests that fill it write little.
DISK_UNIT = GIBIBYTE // 4

Handler = Callable[[web.Request], Awaitable[web.StreamResponse]]


@dataclass
class Fault:
    """A fault for the next matching requests, before or after they are served."""

    method: str
    path: str
    #: An HTTP status, or `drop` to cut the connection.
    answer: int | str
    #: Whether the request is served all the same, so that only its answer is lost.
    after: bool = False
    times: int = 1

    def fits(self, request: web.Request) -> bool:
        return self.times > 0 and self.method == request.method and re.search(self.path, request.path) is not None


@dataclass
class FakeDaytona:
    """Daytona on loopback. `gateway_port` is a TCP port of this machine that its sandboxes may reach, and only it."""

    root: Path
    age: Age = Age.OLD
    gateway_port: int | None = None
    page: int = 100
    #: Whether an image takes its time, as one does that was never used before.
    builds: bool = False
    faults: list[Fault] = field(default_factory=list)
    records: dict[str, Record] = field(default_factory=dict)
    requests: list[str] = field(default_factory=list)
    heard: asyncio.Condition = field(default_factory=asyncio.Condition)
    url: str = ""

    async def __aenter__(self) -> "FakeDaytona":
        self.local = LocalProvider(self.root / "sandboxes")
        self.gateway_socket = gateway_listener.GatewaySocket(self.root / "gateway_socket", self.gateway_port)
        await self.gateway_socket.open()
        app = web.Application(middlewares=[self._gate], client_max_size=256 * 1024 * 1024)
        app.add_routes(
            [
                web.post("/api/sandbox", self._create),
                web.get("/api/sandbox", self._list),
                web.get("/api/sandbox/{name}", self._get),
                web.delete("/api/sandbox/{name}", self._delete),
                web.post("/api/sandbox/{name}/start", self._start),
                web.post("/api/sandbox/{name}/stop", self._stop),
                web.get("/api/sandbox/{name}/build-logs-url", self._build_logs_url),
                web.get("/build-logs/{name}", self._build_logs),
            ]
        )
        app.add_routes(toolbox.routes(self))
        self.runner = web.AppRunner(app, shutdown_timeout=1)
        await self.runner.setup()
        site = web.TCPSite(self.runner, "127.0.0.1", 0)
        await site.start()
        self.port = self.runner.addresses[0][1]
        self.url = f"http://127.0.0.1:{self.port}/api"
        return self

    async def __aexit__(self, *_: object) -> None:
        for record in list(self.records.values()):
            await self._remove(record)
        await self.runner.cleanup()
        await self.gateway_socket.close()

    @property
    def toolbox_url(self) -> str:
        """Where the sandboxes' own calls go."""
        return f"http://127.0.0.1:{self.port}/toolbox"

    def named(self, name: str) -> Record:
        """The sandbox of that id or name. Raises 404."""
        for record in self.records.values():
            if name in (record.id, record.name):
                return record
        raise _problem(web.HTTPNotFound, f"Sandbox with ID or name {name} not found")

    async def reached(self, beginning: str) -> None:
        """Wait for a request with this prefix."""
        async with self.heard:
            await self.heard.wait_for(lambda: any(request.startswith(beginning) for request in self.requests))

    def pass_time(self, minutes: float) -> None:
        """Advance the time without a call: Daytona stops idle sandboxes even if they are busy."""
        for record in self.records.values():
            record.idle_minutes += minutes
            interval = record.asked.get("autoStopInterval", 15)
            if interval and record.idle_minutes >= interval:
                self.put_to_sleep(record)

    def put_to_sleep(self, record: Record) -> None:
        """Stop it: its processes end, its files stay."""
        for session in record.sessions.values():
            for task in session.tasks:
                task.cancel()
        record.sessions.clear()
        record.state = "stopped"

    @web.middleware
    async def _gate(self, request: web.Request, handler: Handler) -> web.StreamResponse:
        async with self.heard:
            self.requests.append(f"{request.method} {request.path}")
            self.heard.notify_all()
        if request.headers.get("Authorization") != f"Bearer {API_KEY}":
            raise _problem(web.HTTPUnauthorized, "Invalid credentials")
        fault = next(
            (f for f in self.faults if f.times and f.method == request.method and re.search(f.path, request.path)), None
        )
        if fault is None:
            return await handler(request)
        fault.times -= 1
        if fault.after:
            await handler(request)
        if fault.answer == "drop":
            assert request.transport is not None
            request.transport.close()
            return web.Response()
        return web.json_response({"message": "as the test asked"}, status=int(fault.answer))

    async def _create(self, request: web.Request) -> web.Response:
        asked = await request.json()
        if any(record.name == asked.get("name") for record in self.records.values()):
            raise _problem(web.HTTPConflict, f"Sandbox with name {asked['name']} already exists")
        built = asked.get("buildInfo")
        if asked.get("snapshot") and any(asked.get(key) for key in ("cpu", "memory", "disk")):
            raise _problem(web.HTTPBadRequest, "Cannot specify Sandbox resources when using a snapshot")
        cpu, memory, disk = (asked["cpu"], asked["memory"], asked["disk"]) if built else SNAPSHOT
        record = Record(asked, memory=memory, cpu=cpu, disk=disk)
        self.records[record.id] = record
        if built and self.builds:
            record.state = "pending_build"
        else:
            await self.boot(record)
        return web.json_response(record.full(self.age, self.toolbox_url))

    async def boot(self, record: Record) -> None:
        """Create the bubblewrap sandbox that stands for the machine."""
        resources = Resources(record.memory * GIBIBYTE, record.cpu, 512, record.disk * DISK_UNIT)
        spec = SandboxSpec(
            id=record.id,
            owner="daytona",
            argv=[sys.executable, "-I", "-S", "-c", gateway_listener.INSIDE, str(self.gateway_port or 0)],
            env={"PATH": "/usr/local/bin:/usr/bin:/bin", "HOME": paths.HOME},
            resources=resources,
            lifetime=timedelta(days=1),
            gateway_folder=self.gateway_socket.folder,
        )
        await self.local.create(spec)
        record.state = "started"

    async def _list(self, request: web.Request) -> web.Response:
        labels = json.loads(request.query.get("labels", "{}")).items()
        fits = [record for record in self.records.values() if labels <= record.labels.items()]
        start = int(request.query.get("cursor", 0))
        end = start + min(int(request.query.get("limit", 100)), self.page)
        items = [record.item(self.age, self.toolbox_url) for record in fits[start:end]]
        return web.json_response(
            {"items": items, "nextCursor": str(end) if end < len(fits) else None, "total": len(fits)}
        )

    async def _get(self, request: web.Request) -> web.Response:
        record = self.named(request.match_info["name"])
        if record.state == "pending_build":
            await self.boot(record)
        return web.json_response(record.full(self.age, self.toolbox_url))

    async def _delete(self, request: web.Request) -> web.Response:
        record = self.named(request.match_info["name"])
        told = record.full(self.age, self.toolbox_url) | {"state": "destroying"}
        await self._remove(record)
        return web.json_response(told)

    async def _remove(self, record: Record) -> None:
        self.records.pop(record.id, None)
        tasks = [task for session in record.sessions.values() for task in session.tasks]
        await self.local.destroy(SandboxRef(record.id))
        await asyncio.gather(*tasks, return_exceptions=True)

    async def _start(self, request: web.Request) -> web.Response:
        record = self.named(request.match_info["name"])
        record.state, record.idle_minutes = "started", 0
        return web.json_response(record.full(self.age, self.toolbox_url))

    async def _stop(self, request: web.Request) -> web.Response:
        record = self.named(request.match_info["name"])
        self.put_to_sleep(record)
        return web.json_response(record.full(self.age, self.toolbox_url))

    async def _build_logs_url(self, request: web.Request) -> web.Response:
        return web.json_response({"url": f"http://127.0.0.1:{self.port}/build-logs/{request.match_info['name']}"})

    async def _build_logs(self, request: web.Request) -> web.Response:
        asked = self.named(request.match_info["name"]).asked["buildInfo"]["dockerfileContent"]
        return web.Response(text=f"Step 1/1 : {asked.strip()}\n")


def _problem(kind: type[web.HTTPException], message: str) -> web.HTTPException:
    status = kind.status_code
    text = json.dumps({"statusCode": status, "message": message, "error": kind.__name__})
    return kind(text=text, content_type="application/json")
