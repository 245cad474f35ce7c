"""API servers in separate processes on one database, and their clients."""

import asyncio
import json
import os
import shutil
import subprocess
import sys
import tempfile
from collections.abc import AsyncIterator, Callable, Iterable, Mapping
from contextlib import asynccontextmanager
from dataclasses import dataclass
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import httpx
from websockets.asyncio.client import ClientConnection, connect

from omoi_os.accounts import service as accounts
from omoi_os.accounts.models import User
from omoi_os.bus.memory import MemoryBus
from omoi_os.config import load_settings
from omoi_os.db.base import Sessions
from omoi_os.visibility import Role
from tests.api.test_server import free_port, running
from tests.builders import a_project, a_task, a_ticket, a_user, a_work_sandbox

PATIENCE = 30.0
ADMIN = "omoi_admin-token-of-the-tests"

Json = dict[str, Any]


@dataclass
class Server:
    """One API server."""

    port: int
    process: subprocess.Popen[bytes] | None = None

    def kill(self) -> None:
        assert self.process is not None
        self.process.kill()
        self.process.wait()

    @property
    def url(self) -> str:
        return f"http://127.0.0.1:{self.port}/api/v1"

    def client(self, token: str = ADMIN) -> httpx.AsyncClient:
        return httpx.AsyncClient(
            base_url=self.url, headers={"Authorization": f"Bearer {token}"}, trust_env=False, timeout=PATIENCE
        )

    def listen(
        self,
        token: str = ADMIN,
        *,
        headers: dict[str, str] | None = None,
        query: Mapping[str, str | list[str]] | None = None,
        **more: str,
    ) -> connect:
        """A WebSocket; it is live once it is open."""
        address = str(httpx.URL(f"{self.url.replace('http', 'ws')}/ws/events", params={**(query or {}), **more}))
        sent = {"Authorization": f"Bearer {token}", **(headers or {})}
        return connect(address, additional_headers=sent, compression=None, max_size=None, open_timeout=60)


@asynccontextmanager
async def serving(database_url: str, **environment: str) -> AsyncIterator[Server]:
    """A server that answers, until the block ends; it may be killed meanwhile."""
    folder = Path(tempfile.mkdtemp(prefix="omoi-s-", dir="/tmp"))
    port = free_port()
    env = {
        "PATH": os.environ["PATH"],
        "HOME": str(folder),
        "DATABASE_URL": database_url,
        "OMOI_DATA_DIR": str(folder / "data"),
        "OMOI_CONFIG_DIR": str(folder),
        "OMOI_PORT": str(port),
        "OMOI_ADMIN_TOKEN": ADMIN,
        **environment,
    }
    log = folder / "log"
    process = _start(env, log)
    try:
        await _ready(port, process, log)
        yield Server(port, process)
    finally:
        process.terminate()
        await asyncio.to_thread(process.wait, 20)
        shutil.rmtree(folder, ignore_errors=True)


@asynccontextmanager
async def serving_here(database_url: str, **settings: Any) -> AsyncIterator[Server]:
    """A server in this process, which is ready sooner."""
    folder = Path(tempfile.mkdtemp(prefix="omoi-s-", dir="/tmp"))
    made = load_settings(
        environ={},
        config_dir=folder,
        data_dir=folder,
        database_url=database_url,
        port=free_port(),
        admin_token=ADMIN,
        **settings,
    )
    async with running(made), httpx.AsyncClient(trust_env=False, timeout=PATIENCE) as client:
        await client.get(f"http://127.0.0.1:{made.port}/ready")
        yield Server(made.port)
    shutil.rmtree(folder, ignore_errors=True)


def _start(env: dict[str, str], log: Path) -> subprocess.Popen[bytes]:
    with log.open("wb") as out:
        return subprocess.Popen([sys.executable, "-m", "omoi_os", "api"], env=env, stdout=out, stderr=out)


async def _ready(port: int, process: subprocess.Popen[bytes], log: Path) -> None:
    async with httpx.AsyncClient(trust_env=False) as client, asyncio.timeout(PATIENCE):
        while True:
            assert process.poll() is None, log.read_text()
            try:
                if (await client.get(f"http://127.0.0.1:{port}/ready")).status_code == 200:
                    return
            except httpx.TransportError:
                await asyncio.sleep(0.05)


@dataclass
class Place:
    """A user's sandbox at work, as its worker posts to it."""

    sandbox_id: str
    token: str
    project_id: str
    posted: int = 0

    async def post(self, client: httpx.AsyncClient, number: int, **data: Any) -> None:
        """Post so many events in one batch, numbered on; resent until they are stored."""
        events = [
            {"event_type": "agent.message", "event_data": {"n": self.posted + n, **data}, "seq": self.posted + n}
            for n in range(1, number + 1)
        ]
        answer = await client.post(
            f"/sandboxes/{self.sandbox_id}/events/batch",
            json={"events": events},
            headers={"Authorization": f"Bearer {self.token}"},
        )
        assert answer.status_code == 200, answer.text
        assert answer.json()["last_seq"] == self.posted + number
        self.posted += number


@dataclass(frozen=True)
class Person:
    """A user and their key."""

    user: User
    token: str


async def a_person(sessions: Sessions, role: Role = Role.MEMBER) -> Person:
    now = datetime.now(UTC)
    async with sessions.begin() as session:
        user = await a_user(session, role=role)
        _, token = await accounts.create_key(session, user, name="test", scope=None, expires_at=None, now=now)
    return Person(user, token)


async def a_place(sessions: Sessions, owner: Person | None = None) -> Place:
    """A sandbox of this person's, else of somebody's."""
    async with sessions.begin() as session:
        ticket = await a_ticket(session, await a_project(session, owner.user if owner else None))
        task = await a_task(session, MemoryBus(), ticket)
        sandbox, token = await a_work_sandbox(session, MemoryBus(), task, now=datetime.now(UTC))
    return Place(sandbox.id, token, str(sandbox.project_id))


async def hear(socket: ClientConnection, number: int) -> list[Json]:
    """The next lines."""
    async with asyncio.timeout(PATIENCE):
        return [json.loads(await socket.recv()) for _ in range(number)]


async def hear_until(
    socket: ClientConnection, last: Callable[[Json], bool], *, patience: float = PATIENCE
) -> list[Json]:
    """The next lines up to the one that is waited for."""
    heard: list[Json] = []
    async with asyncio.timeout(patience):
        while not heard or not last(heard[-1]):
            heard.append(json.loads(await socket.recv()))
    return heard


def numbers(heard: Iterable[Json], sandbox_id: str) -> list[int]:
    """The numbers of a sandbox's events, as they came."""
    return [item["seq"] for item in heard if item["type"] == "sandbox.event" and item["sandbox_id"] == sandbox_id]
