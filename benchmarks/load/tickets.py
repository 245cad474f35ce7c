"""Send one ticket after another through the real platform and record the time of every step."""

import asyncio
import time
from collections import defaultdict
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from dataclasses import dataclass, field
from datetime import datetime
from pathlib import Path
from typing import Any

import httpx
import psycopg

from benchmarks.load import processes
from benchmarks.load.model_host import Call, Model
from benchmarks.load.processes import Process
from omoi_os.bus.postgres import CHANNEL
from omoi_os.db import embedded
from omoi_os.db.base import plain_url
from tests.e2e.platform import Platform

PATIENCE = 60.0

#: How long sandboxes must use no processor time to count as idle.
_REST_SECONDS = 0.5


@dataclass(slots=True)
class Timeline:
    """When each step of one ticket was done, in seconds of the system clock."""

    posted: float  #: just before the ticket was sent
    handled: float = 0.0  #: the API started to process it: its row's `created_at`
    queued: float = 0.0  #: its task was committed
    claimed: float = 0.0  #: the claim was committed
    folder: float = 0.0  #: the provider started to create the sandbox
    up: float = 0.0  #: the provider had its first process running
    reported: float = 0.0  #: the worker recorded its first event
    received: float = 0.0  #: the API started to process that event: its row's `created_at`
    durable: float = 0.0  #: that event was committed
    seen: float = 0.0  #: a client that was woken by the commit had read it
    agent: float = 0.0  #: the agent's process, which imports the SDK, was started
    cli: float = 0.0  #: the agent's CLI was started
    called: float = 0.0  #: the model was called
    processes: list[tuple[Process, int]] = field(default_factory=list)  #: what ran then, each with its PSS in bytes

    def since_post(self, moment: float) -> float:
        """Return the milliseconds from sending the ticket to a moment."""
        return (moment - self.posted) * 1000


class Desk:
    """Create tickets and follow them by the database's notifications, because polling would disturb the machine."""

    def __init__(self, platform: Platform, model: Model) -> None:
        self._platform = platform
        self._model = model
        self._notified: dict[str, asyncio.Queue[float]] = defaultdict(asyncio.Queue)
        self._project = ""
        self.conninfo = plain_url(embedded.url(platform.data_dir))

    @asynccontextmanager
    async def opened(self) -> AsyncIterator["Desk"]:
        """Connect to the platform's API and database."""
        headers = {"Authorization": f"Bearer {self._platform.token}"}
        base_url = f"{self._platform.url}/api/v1"
        connect = psycopg.AsyncConnection.connect
        async with (
            httpx.AsyncClient(base_url=base_url, headers=headers, trust_env=False, timeout=PATIENCE) as self._http,
            await connect(self.conninfo, autocommit=True) as self._rows,
            await connect(self.conninfo, autocommit=True) as notifications,
        ):
            await notifications.execute(f"LISTEN {CHANNEL}")
            listening = asyncio.create_task(self._listen(notifications))
            self._project = str((await self._post("/projects", {"name": "benchmark"}))["id"])
            try:
                yield self
            finally:
                listening.cancel()

    async def run_ticket(self) -> Timeline:
        """Create one ticket and follow it until its task has ended."""
        expected = self._model.expect()
        timeline = Timeline(posted=time.time())
        ticket = await self._post("/tickets", {"title": "Do nothing", "project_id": self._project})
        task_id = str(ticket["tasks"][0]["id"])
        timeline.handled = _moment(ticket["created_at"])
        async with asyncio.timeout(PATIENCE):
            # Each change of the task's row is announced: created, claimed, running with the first event.
            notified = self._notified[f"tasks:{task_id}"]
            timeline.queued = await notified.get()
            timeline.claimed = await notified.get()
            sandbox_id, gateway_socket = await self._sandbox_of(task_id)
            timeline.durable = await notified.get()
            started = await self._started(sandbox_id)
            timeline.seen = time.time()
            timeline.reported, timeline.received = _moment(started["occurred_at"]), _moment(started["created_at"])
            self._look(timeline, await expected, gateway_socket)
            await self._until_ended(task_id)
        return timeline

    async def at_rest(self, *, waiting: int = 0) -> list[Process]:
        """Return the sandboxes' processes once that many agents wait and none has used processor time for a while."""
        async with asyncio.timeout(PATIENCE):
            before = -1.0
            while True:
                found = processes.of_sandboxes(self._platform.data_dir)
                used = sum(process.cpu_seconds for process in found)
                if used == before and sum(process.kind == "agent" for process in found) == waiting:
                    return found
                before = used
                await asyncio.sleep(_REST_SECONDS)

    def _look(self, timeline: Timeline, call: Call, gateway_socket: str) -> None:
        """Record the sandbox's processes while its first model call waits for an answer."""
        timeline.called = call.at
        found = processes.of_sandboxes(self._platform.data_dir, gateway_socket)
        timeline.processes = [(process, process.pss_bytes) for process in found]
        timeline.agent = min((process.started for process in found if process.kind == "agent"), default=0.0)
        timeline.cli = min((process.started for process in found if process.kind == "cli"), default=0.0)
        folder = self._platform.data_dir / "sandboxes" / gateway_socket
        timeline.folder, timeline.up = _written(folder / "spec.json"), _written(folder / "state.json")
        call.released.set()

    async def _listen(self, notifications: "psycopg.AsyncConnection[Any]") -> None:
        async for notice in notifications.notifies():
            self._notified[notice.payload].put_nowait(time.time())

    async def _post(self, path: str, body: dict[str, Any]) -> dict[str, Any]:
        response = await self._http.post(path, json=body)
        response.raise_for_status()
        return dict(response.json())

    async def _sandbox_of(self, task_id: str) -> tuple[str, str]:
        query = "SELECT s.id, s.gateway_socket FROM sandboxes s JOIN tasks t ON t.sandbox_id = s.id WHERE t.id = %s"
        row = await (await self._rows.execute(query, [task_id])).fetchone()
        assert row is not None
        return str(row[0]), str(row[1])

    async def _started(self, sandbox_id: str) -> dict[str, Any]:
        response = await self._http.get(f"/sandboxes/{sandbox_id}/events", params={"event_type": "agent.started"})
        response.raise_for_status()
        return dict(response.json()["items"][0])

    async def _until_ended(self, task_id: str) -> None:
        notified = self._notified[f"tasks:{task_id}"]
        query = "SELECT status FROM tasks WHERE id = %s"
        while (row := await (await self._rows.execute(query, [task_id])).fetchone()) and row[0] != "failed":
            await notified.get()


def _moment(text: str) -> float:
    return datetime.fromisoformat(text).timestamp()


def _written(path: Path) -> float:
    return path.stat().st_mtime if path.exists() else 0.0
