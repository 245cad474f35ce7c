"""Measure how fast a message reaches a waiting worker: P9."""

import asyncio
import os
import shutil
import socket
import sys
import tempfile
import time
from collections.abc import AsyncIterator, Sequence
from contextlib import AsyncExitStack, asynccontextmanager
from dataclasses import dataclass
from datetime import UTC, datetime
from pathlib import Path

import httpx

from benchmarks.figures import Beside, Figure, percentile
from omoi_os.bus.postgres import PostgresBus
from omoi_os.db import embedded
from omoi_os.db.base import make_engine, make_sessions
from omoi_os.worker.reporter.api import Api
from tests.builders import a_work_sandbox

#: How many sandboxes wait for messages at the same time.
_SANDBOXES = 20
_WAIT_SECONDS = 25.0
_PATIENCE = 60.0

_LIMIT_MS = 15.0
_LIMIT_REQUESTS = 0.05


class Listener:
    """A worker that waits for messages, through the gateway or not, and records when it has one."""

    def __init__(self, api: Api, sandbox_id: str) -> None:
        self._api = api
        self.sandbox_id = sandbox_id
        self.heard: asyncio.Queue[tuple[str, float]] = asyncio.Queue()
        #: When its newest poll was sent.
        self.polled = 0.0
        #: The duration of each poll that returned nothing.
        self.idle: list[float] = []

    async def listen(self) -> None:
        """Poll forever, as the worker does."""
        last = None
        while True:
            self.polled = time.perf_counter()
            found = await self._api.poll_messages(wait=_WAIT_SECONDS, after=last)
            now = time.perf_counter()
            if not found:
                self.idle.append(now - self.polled)
            for message in found:
                self.heard.put_nowait((message.message_id, now))
                last = message.message_id
            if found:
                await self._api.acknowledge_messages([message.message_id for message in found])


@dataclass(frozen=True, slots=True)
class Place:
    """A running API and gateway."""

    api: str
    gateway: str
    listeners: Sequence[Listener]
    token: str


@asynccontextmanager
async def running(*, through_gateway: bool) -> AsyncIterator[Place]:
    """Run an API and a gateway as separate processes, with sandboxes that wait."""
    folder = Path(tempfile.mkdtemp(prefix="omoi-bench-", dir="/tmp"))
    async with AsyncExitStack() as stack:
        stack.callback(shutil.rmtree, folder, ignore_errors=True)
        url = await embedded.start(folder)
        stack.push_async_callback(embedded.stop, folder)
        api, gateway = (f"http://127.0.0.1:{_free_port()}" for _ in range(2))
        environment = os.environ | {
            "OMOI_DATA_DIR": str(folder),
            "OMOI_PORT": api.rpartition(":")[2],
            "OMOI_ADMIN_TOKEN": "omoi_benchmark-token-of-the-administrator",
            "CALLBACK_URL": gateway,
            "OMOI_GATEWAY_PORT": gateway.rpartition(":")[2],
            "OMOI_MODEL": "scripted",
        }
        for part, health in (("api", f"{api}/ready"), ("gateway", f"{gateway}/api/hello")):
            await stack.enter_async_context(_process(part, environment))
            await _until_answered(health)
        listeners = await _listeners(url, gateway if through_gateway else api)
        async with asyncio.TaskGroup() as group:
            polling = [group.create_task(listener.listen()) for listener in listeners]
            yield Place(api, gateway, listeners, environment["OMOI_ADMIN_TOKEN"])
            for task in polling:
                task.cancel()


async def _listeners(database_url: str, base: str) -> list[Listener]:
    engine = make_engine(database_url)
    bus = PostgresBus(database_url)
    made = []
    async with make_sessions(engine).begin() as session:
        for _ in range(_SANDBOXES):
            sandbox, token = await a_work_sandbox(session, bus, now=datetime.now(UTC))
            made.append(Listener(Api(f"{base}/api/v1/sandboxes/{sandbox.id}/events", token), sandbox.id))
    await engine.dispose()
    return made


async def measure(place: Place, *, rounds: int) -> list[list[float]]:
    """Return the milliseconds from before each message is sent until its worker has it; one list per round."""
    headers = {"Authorization": f"Bearer {place.token}"}
    async with httpx.AsyncClient(base_url=f"{place.api}/api/v1", headers=headers, trust_env=False) as client:
        # The first round fills caches and is not counted.
        return [await _round(client, place.listeners) for _ in range(rounds + 1)][1:]


async def _round(client: httpx.AsyncClient, listeners: Sequence[Listener]) -> list[float]:
    samples = []
    for listener in [*listeners] * 5:
        await asyncio.sleep(0.02)
        begun = time.perf_counter()
        answer = await client.post(f"/sandboxes/{listener.sandbox_id}/messages", json={"content": "hello"})
        message_id, heard = await asyncio.wait_for(listener.heard.get(), _PATIENCE)
        if answer.status_code != 201 or answer.json()["message_id"] != message_id:
            raise RuntimeError(f"a message was not sent or came out of order: {answer.text}")
        samples.append((heard - begun) * 1000)
    return samples


async def idle_rate(place: Place) -> list[float]:
    """Return the requests per second of each sandbox whose worker waits without receiving a message."""
    for listener in place.listeners:
        listener.idle.clear()
    # The current poll may have started earlier; the next one has not.
    await asyncio.sleep(2 * _WAIT_SECONDS + 2)
    return [len(listener.idle) / sum(listener.idle) for listener in place.listeners]


@asynccontextmanager
async def _process(part: str, environment: dict[str, str]) -> AsyncIterator[None]:
    process = await asyncio.create_subprocess_exec(sys.executable, "-m", "omoi_os", part, env=environment)
    try:
        yield
    finally:
        process.terminate()
        await process.wait()


async def _until_answered(url: str) -> None:
    async with httpx.AsyncClient(trust_env=False) as client, asyncio.timeout(_PATIENCE):
        while True:
            try:
                if (await client.get(url)).is_success:
                    return
            except httpx.TransportError:
                pass
            await asyncio.sleep(0.1)


def _free_port() -> int:
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        port: int = probe.getsockname()[1]
        return port


async def figures(rounds: int) -> list[Figure]:
    """Measure P9 and return its figures."""
    found = []
    for name, through_gateway in (("through the gateway", True), ("straight from the API", False)):
        async with running(through_gateway=through_gateway) as place:
            samples = await measure(place, rounds=rounds)
            limit = Beside("limit", [_LIMIT_MS] * rounds)
            p99 = [percentile(each, 0.99) for each in samples]
            half = [percentile(each, 0.5) for each in samples]
            found.append(Figure(f"P9 message → worker, p99, {name}", p99, limit, goal=1.0))
            found.append(Figure("   the same, p50", half, limit))
            if through_gateway:
                rates = [rate * 1000 for rate in await idle_rate(place)]
                allowed = Beside("limit", [_LIMIT_REQUESTS * 1000] * len(rates))
                found.append(Figure("P9 idle requests a sandbox and 1,000 s", rates, allowed, goal=1.0, unit=""))
    return found
