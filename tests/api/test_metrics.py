"""Metrics tell what is active now, to administrators."""

from datetime import UTC, datetime

import httpx
from fastapi import FastAPI

from omoi_os.bus.memory import MemoryBus
from omoi_os.db.base import Sessions
from omoi_os.visibility import Role
from tests.api.conftest import a_key, calling
from tests.builders import a_task, a_work_sandbox


async def test_open_tasks_and_living_sandboxes_are_told_with_what_they_use(app: FastAPI, sessions: Sessions) -> None:
    bus = MemoryBus()
    async with sessions.begin() as session:
        sandbox, _ = await a_work_sandbox(session, bus, now=datetime.now(UTC))
        sandbox.memory_bytes, sandbox.pids = 123456, 7
        await a_task(session, bus)

    async with calling(app, await a_key(sessions, "root", Role.ADMIN), base="http://omoi") as admin:
        text = (await admin.get("/metrics")).text

    assert 'omoi_tasks{status="assigned"} 1.0' in text
    assert 'omoi_tasks{status="pending"} 1.0' in text
    assert 'omoi_sandboxes{provider="local",purpose="work",status="creating"} 1.0' in text
    assert f'omoi_sandbox_memory_bytes{{provider="local",sandbox_id="{sandbox.id}"}} 123456.0' in text
    assert f'omoi_sandbox_pids{{provider="local",sandbox_id="{sandbox.id}"}} 7.0' in text


async def test_metrics_are_not_for_everyone(app: FastAPI, sessions: Sessions) -> None:
    async def status(token: str | None) -> int:
        async with calling(app, token, base="http://omoi") as client:
            answer: httpx.Response = await client.get("/metrics")
            return answer.status_code

    assert await status(None) == 401
    assert await status(await a_key(sessions, "ada")) == 403
