"""A gateway with its gateway sockets, a model's host and an API behind it that record their requests."""

from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import AsyncExitStack, asynccontextmanager
from pathlib import Path
from typing import Any

import pytest
from aiohttp import web

from omoi_os.bus.postgres import PostgresBus
from omoi_os.config import Settings
from omoi_os.db.base import Sessions
from omoi_os.gateway.server import serving
from omoi_os.sandboxes import service as sandboxes
from omoi_os.sandboxes.lifecycle import Purpose
from omoi_os.sandboxes.service import Origin
from omoi_os.tasks import service as tasks
from tests.builders import a_project, a_task, a_ticket
from tests.conftest import NOON
from tests.gateway.places import GatewaySocket, Host

KEY = "sk-ant-the-real-key"

OpenSocket = Callable[..., Awaitable[GatewaySocket]]
Start = Callable[..., Awaitable[web.AppRunner]]


@pytest.fixture
def bus(database_url: str) -> PostgresBus:
    return PostgresBus(database_url)


@asynccontextmanager
async def listening(host: Host) -> AsyncIterator[Host]:
    app = web.Application(client_max_size=1 << 30)
    app.router.add_route("*", "/{path:.*}", host.handle)
    runner = web.AppRunner(app, handler_cancellation=True, shutdown_timeout=0.1)
    await runner.setup()
    await web.TCPSite(runner, "127.0.0.1", 0).start()
    host.url = f"http://127.0.0.1:{runner.addresses[0][1]}"
    try:
        yield host
    finally:
        await runner.cleanup()


@pytest.fixture
async def model() -> AsyncIterator[Host]:
    """The model's host."""
    async with listening(Host()) as host:
        yield host


@pytest.fixture
async def api() -> AsyncIterator[Host]:
    """The API as far as the gateway can see it."""
    async with listening(Host()) as host:
        yield host


@pytest.fixture
def settings(short_tmp: Path, database_url: str, model: Host, api: Host) -> Settings:
    return Settings(
        data_dir=short_tmp,
        database_url=database_url,
        api_url=api.url,
        anthropic_api_key=KEY,
        anthropic_base_url=model.url,
    )


@pytest.fixture
async def open_socket(sessions: Sessions, bus: PostgresBus, settings: Settings) -> OpenSocket:
    """Write the rows of a sandbox as the dispatcher does."""

    async def write(
        *,
        purpose: Purpose = Purpose.WORK,
        budget_usd: float | None = None,
        model: str | None = None,
        project_settings: dict[str, Any] | None = None,
        **fields: Any,
    ) -> GatewaySocket:
        async with sessions.begin() as session:
            project = await a_project(session, **project_settings or {})
            ticket = await a_ticket(session, project)
            task = await a_task(session, bus, ticket, **fields)
            task.branch_name, task.branch_created = f"feature/{task.id}", True
            await tasks.assign(session, bus, task, lease_owner=1, until=NOON)
            origin = Origin(provider="local", site=settings.site, model=model, budget_usd=budget_usd)
            sandbox, token = await sandboxes.open_sandbox(session, bus, task, purpose=purpose, origin=origin, now=NOON)
        return GatewaySocket(settings, project, task, sandbox, token)

    return write


@pytest.fixture
async def start(database_url: str, bus: PostgresBus, settings: Settings) -> AsyncIterator[Start]:
    """Start the gateway; sandboxes written before have their gateway sockets when it returns."""
    async with AsyncExitStack() as stack:

        async def enter(**changes: Any) -> web.AppRunner:
            changed = settings.model_copy(update=changes)
            return await stack.enter_async_context(serving(changed, database_url=database_url, bus=bus))

        yield enter
