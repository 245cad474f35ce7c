"""The API as a separate process on a given database, and sandboxes that report to it."""

import asyncio
import json
import os
import socket
import subprocess
import sys
from dataclasses import dataclass
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import aiohttp

from omoi_os.bus.memory import MemoryBus
from omoi_os.db.base import Sessions
from omoi_os.sandboxes.lifecycle import SandboxState
from omoi_os.tasks.lifecycle import TaskState
from tests.builders import a_project, a_task, a_ticket, a_work_sandbox

START_SECONDS = 60.0


def free_port() -> int:
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        port: int = probe.getsockname()[1]
        return port


class ApiProcess:
    """`omoi api`. It may die and be started again at the same place."""

    def __init__(self, folder: Path, database_url: str) -> None:
        self.port = free_port()
        self.url = f"http://127.0.0.1:{self.port}"
        self.log = folder / f"api-{self.port}.log"
        self.environment = {
            "PATH": os.environ["PATH"],
            "HOME": str(folder),
            "OMOI_DATA_DIR": str(folder),
            "OMOI_PORT": str(self.port),
            "DATABASE_URL": database_url,
            "OMOI_MODEL": "scripted",
            "OMOI_ADMIN_TOKEN": "omoi_the-administrators-own-key-of-this-test",
        }
        self.process: subprocess.Popen[bytes] | None = None

    async def start(self, **environment: str) -> None:
        """Return once it answers, or has died."""
        with self.log.open("ab") as log:
            self.process = subprocess.Popen(  # noqa: ASYNC220  it takes a moment only
                [sys.executable, "-P", "-m", "omoi_os", "api"],
                env=self.environment | environment,
                stdin=subprocess.DEVNULL,
                stdout=log,
                stderr=log,
            )
        deadline = asyncio.get_running_loop().time() + START_SECONDS
        async with aiohttp.ClientSession() as http:
            while self.process.poll() is None:
                try:
                    async with http.get(self.url + "/health") as answer:
                        assert answer.status == 200
                        return
                except aiohttp.ClientError:
                    assert asyncio.get_running_loop().time() < deadline, self.log.read_text()[-2000:]
                    await asyncio.sleep(0.05)

    async def ended(self) -> int:
        """Its exit code, once it has ended."""
        assert self.process is not None
        return await asyncio.to_thread(self.process.wait)

    @property
    def alive(self) -> bool:
        return self.process is not None and self.process.poll() is None

    def kill(self) -> None:
        if self.process is not None and self.process.poll() is None:
            self.process.kill()
            self.process.wait()

    @property
    def rss_kib(self) -> int:
        """The memory that it has now."""
        return self._memory("VmRSS:")

    @property
    def peak_rss_kib(self) -> int:
        """The most that it had at any time."""
        return self._memory("VmHWM:")

    def _memory(self, name: str) -> int:
        assert self.process is not None
        lines = Path(f"/proc/{self.process.pid}/status").read_text().splitlines()
        return next(int(line.split()[1]) for line in lines if line.startswith(name))


@dataclass(frozen=True)
class Reporter:
    """A sandbox as its worker knows it."""

    id: str
    token: str

    @property
    def headers(self) -> dict[str, str]:
        return {"Authorization": f"Bearer {self.token}", "Content-Type": "application/json"}

    def path(self, rest: str = "/events") -> str:
        return f"/api/v1/sandboxes/{self.id}{rest}"


async def make_reporters(sessions: Sessions, count: int, *, at_work: bool = False) -> list[Reporter]:
    """Create sandboxes of one project, each with its own task; running ones have already reported."""
    made = []
    bus = MemoryBus()
    async with sessions.begin() as session:
        project = await a_project(session)
        for _ in range(count):
            ticket = await a_ticket(session, project)
            task = await a_task(session, bus, ticket)
            sandbox, token = await a_work_sandbox(session, bus, task, now=datetime.now(UTC))
            if at_work:
                sandbox.status, task.status = SandboxState.RUNNING, TaskState.RUNNING
            made.append(Reporter(sandbox.id, token))
    return made


def batch_body(events: list[dict[str, Any]]) -> bytes:
    return json.dumps({"events": events}).encode()
