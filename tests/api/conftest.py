"""The application over a real database, and the people and sandboxes that call it."""

from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from dataclasses import dataclass
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import httpx
import pytest
from fastapi import FastAPI

from omoi_os.accounts import service as accounts
from omoi_os.accounts.repository import by_email
from omoi_os.accounts.sessions import make_code
from omoi_os.api.app import make_app
from omoi_os.bus.memory import MemoryBus
from omoi_os.config import Settings, load_settings
from omoi_os.db.base import Sessions
from omoi_os.sandboxes import repository, service
from omoi_os.sandboxes.lifecycle import SandboxState
from omoi_os.tasks.models import Task
from omoi_os.visibility import Role
from tests.builders import a_work_sandbox

BASE = "http://omoi/api/v1"
MODEL_KEY = "sk-test-the-models-own-key"


@pytest.fixture
def settings(short_tmp: Path) -> Settings:
    data_dir = short_tmp / "data"
    data_dir.mkdir()
    return load_settings(
        environ={}, config_dir=short_tmp, data_dir=data_dir, anthropic_api_key=MODEL_KEY, allowed_hosts="omoi"
    )


@pytest.fixture
def bus() -> MemoryBus:
    return MemoryBus()


@pytest.fixture
async def app(settings: Settings, sessions: Sessions, bus: MemoryBus) -> AsyncIterator[FastAPI]:
    made = make_app(settings, sessions, bus)
    yield made
    # As the server does at its end: a stream leaves a connection open for the next one.
    await made.state.hub.close()


@asynccontextmanager
async def browsing(app: FastAPI, sessions: Sessions, *, email: str) -> AsyncIterator[httpx.AsyncClient]:
    """A browser in which this user has signed in, on this server's own page."""
    now = datetime.now(UTC)
    async with sessions.begin() as session:
        user = await by_email(session, email)
        assert user is not None
        code = await make_code(session, user, now=now)
    async with calling(app) as client:
        client.headers["Origin"] = "http://omoi"
        assert (await client.get("http://omoi/sign-in", params={"code": code})).status_code == 303
        yield client


@asynccontextmanager
async def calling(app: FastAPI, token: str | None = None, *, base: str = BASE) -> AsyncIterator[httpx.AsyncClient]:
    """A client that sends this token."""
    headers = {"Authorization": f"Bearer {token}"} if token else {}
    transport = httpx.ASGITransport(app, raise_app_exceptions=False)
    async with httpx.AsyncClient(transport=transport, base_url=base, headers=headers) as client:
        yield client


async def a_key(sessions: Sessions, name: str, role: Role = Role.MEMBER, **fields: Any) -> str:
    """A new user's API key."""
    now = datetime.now(UTC)
    async with sessions.begin() as session:
        user = await accounts.create_user(session, email=f"{name}@example.org", name=name, role=role, now=now)
        values = {"name": "test", "scope": None, "expires_at": None} | fields
        _, token = await accounts.create_key(session, user, now=now, **values)
    return token


@pytest.fixture
async def anonymous(app: FastAPI) -> AsyncIterator[httpx.AsyncClient]:
    async with calling(app) as client:
        yield client


@pytest.fixture
async def admin(app: FastAPI, sessions: Sessions) -> AsyncIterator[httpx.AsyncClient]:
    async with calling(app, await a_key(sessions, "root", Role.ADMIN)) as client:
        yield client


@pytest.fixture
async def ada(app: FastAPI, sessions: Sessions) -> AsyncIterator[httpx.AsyncClient]:
    async with calling(app, await a_key(sessions, "ada")) as client:
        yield client


@pytest.fixture
async def bob(app: FastAPI, sessions: Sessions) -> AsyncIterator[httpx.AsyncClient]:
    async with calling(app, await a_key(sessions, "bob")) as client:
        yield client


@dataclass(frozen=True)
class Worker:
    """A sandbox of Ada's, as its worker calls the API."""

    id: str
    task_id: str
    token: str
    client: httpx.AsyncClient

    def path(self, rest: str = "") -> str:
        return f"/sandboxes/{self.id}{rest}"


async def post_ticket(client: httpx.AsyncClient, **fields: Any) -> dict[str, Any]:
    """A ticket made through the API."""
    body = {"title": "Add a page", "github_owner": "kivo360", "github_repo": "OmoiOS"} | fields
    answer = await client.post("/tickets", json=body)
    assert answer.status_code == 201, answer.text
    made: dict[str, Any] = answer.json()
    return made


@asynccontextmanager
async def working(app: FastAPI, owner: httpx.AsyncClient, **fields: Any) -> AsyncIterator[Worker]:
    """A ticket of this owner with its task assigned to a sandbox."""
    task_id = (await post_ticket(owner, **fields))["tasks"][0]["id"]
    async with app.state.sessions.begin() as session:
        task = await session.get_one(Task, task_id)
        sandbox, token = await a_work_sandbox(session, app.state.bus, task, now=datetime.now(UTC))
    async with calling(app, token) as client:
        yield Worker(sandbox.id, task_id, token, client)


@pytest.fixture
async def worker(app: FastAPI, ada: httpx.AsyncClient) -> AsyncIterator[Worker]:
    async with working(app, ada) as made:
        yield made


async def end_sandbox(app: FastAPI, sandbox_id: str) -> None:
    """End a sandbox as the orchestrator does."""
    async with app.state.sessions.begin() as session:
        sandbox = await repository.lock(session, sandbox_id)
        now = datetime.now(UTC)
        await service.end(session, app.state.bus, sandbox, state=SandboxState.STOPPED, reason="test", now=now)
