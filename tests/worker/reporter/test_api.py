"""The worker's calls for messages, against the real API on PostgreSQL."""

import asyncio
from collections.abc import AsyncIterator
from datetime import UTC, datetime
from pathlib import Path

import pytest
import uvicorn

from omoi_os.api.app import make_app
from omoi_os.bus.postgres import PostgresBus
from omoi_os.config import load_settings
from omoi_os.db.base import Sessions
from omoi_os.protocol.messages import Deliver, MessageType
from omoi_os.sandboxes import repository, service
from omoi_os.sandboxes.lifecycle import SandboxState
from omoi_os.sandboxes.messages import service as messages
from omoi_os.worker.reporter.api import Api, Superseded
from tests.builders import a_work_sandbox


class Desk:
    """One sandbox's API, and a way to send it messages."""

    def __init__(self, sessions: Sessions, bus: PostgresBus, sandbox_id: str, api: Api) -> None:
        self.sessions, self.bus, self.sandbox_id, self.api = sessions, bus, sandbox_id, api

    async def say(self, content: str) -> str:
        async with self.sessions.begin() as session:
            draft = messages.NewMessage(content, MessageType.USER_MESSAGE, Deliver.NEXT_TOOL)
            sender = messages.Sender("system")
            sent = await messages.queue(session, self.bus, self.sandbox_id, draft, sender=sender, now=datetime.now(UTC))
            return str(sent)

    async def end(self) -> None:
        async with self.sessions.begin() as session:
            sandbox = await repository.lock(session, self.sandbox_id)
            now = datetime.now(UTC)
            await service.end(session, self.bus, sandbox, state=SandboxState.STOPPED, reason="test", now=now)


@pytest.fixture
async def desk(database_url: str, sessions: Sessions, short_tmp: Path) -> AsyncIterator[Desk]:
    bus = PostgresBus(database_url)
    async with sessions.begin() as session:
        sandbox, token = await a_work_sandbox(session, bus, now=datetime.now(UTC))
    settings = load_settings(environ={}, config_dir=short_tmp, data_dir=short_tmp)
    app = make_app(settings, sessions, bus)
    server = uvicorn.Server(uvicorn.Config(app, port=0, lifespan="off", log_level="error"))
    started = asyncio.Event()
    startup = server.startup

    async def tell(sockets: object = None) -> None:
        await startup(sockets)  # type: ignore[arg-type]
        started.set()

    server.startup = tell  # type: ignore[method-assign]
    serving = asyncio.create_task(server.serve())
    await started.wait()
    port = server.servers[0].sockets[0].getsockname()[1]
    api = Api(f"http://127.0.0.1:{port}/api/v1/sandboxes/{sandbox.id}/events", token)
    yield Desk(sessions, bus, sandbox.id, api)
    await app.state.waiters.close()
    server.should_exit = True
    await serving


async def test_the_worker_waits_for_messages_and_acknowledges_them(desk: Desk) -> None:
    assert await desk.api.poll_messages(wait=0) == []
    polling = asyncio.create_task(desk.api.poll_messages(wait=25))
    first = await desk.say("one")
    assert [(item.message_id, item.content) for item in await polling] == [(first, "one")]
    second = await desk.say("two")

    assert [item.message_id for item in await desk.api.poll_messages(wait=25, after=first)] == [second]
    assert [item.message_id for item in await desk.api.poll_messages(wait=25)] == [first, second]
    await desk.api.acknowledge_messages([first, "unknown"])
    await desk.api.acknowledge_messages([first])
    assert [item.message_id for item in await desk.api.poll_messages(wait=25)] == [second]


async def test_the_end_of_the_sandbox_ends_the_worker_s_wait(desk: Desk) -> None:
    polling = asyncio.create_task(desk.api.poll_messages(wait=25))
    await desk.end()

    with pytest.raises(Superseded):
        await asyncio.wait_for(polling, 20)
    with pytest.raises(Superseded):
        await desk.api.acknowledge_messages([])
