"""A sandbox that serves a spec has no task, and everything that people and its worker do with it works without one."""

import json
from collections.abc import AsyncIterator
from datetime import UTC, datetime, timedelta
from typing import Any
from uuid import UUID, uuid4

import httpx
import pytest
from fastapi import FastAPI
from sqlalchemy import select
from sqlalchemy.exc import IntegrityError
from sqlalchemy.ext.asyncio import AsyncSession

from omoi_os.bus.memory import MemoryBus
from omoi_os.db.base import Sessions
from omoi_os.projects.models import Project
from omoi_os.sandboxes import repository, retention, service
from omoi_os.sandboxes.ingest.event_log import BatchResult
from omoi_os.sandboxes.lifecycle import Purpose, SandboxState
from omoi_os.sandboxes.models import Sandbox
from omoi_os.stream.models import Change, Outbox
from tests.api.conftest import Worker, calling, end_sandbox, post_ticket
from tests.api_process import Reporter
from tests.builders import a_spec_sandbox, a_task
from tests.conftest import NOON
from tests.sandboxes.ingest.paths import PATHS


async def add_sandbox(app: FastAPI, project_id: str, **fields: Any) -> tuple[Sandbox, str]:
    async with app.state.sessions.begin() as session:
        project = await session.get_one(Project, UUID(project_id))
        return await a_spec_sandbox(session, project, now=datetime.now(UTC), **fields)


@pytest.fixture
async def project_id(ada: httpx.AsyncClient) -> str:
    return str((await post_ticket(ada))["project_id"])


@pytest.fixture
async def spec_id() -> UUID:
    return uuid4()


@pytest.fixture
async def spec_worker(app: FastAPI, project_id: str, spec_id: UUID) -> AsyncIterator[Worker]:
    sandbox, token = await add_sandbox(app, project_id, spec_id=spec_id)
    async with calling(app, token) as client:
        yield Worker(sandbox.id, "", token, client)


@pytest.mark.parametrize("subjects", ["both", "neither"])
async def test_a_sandbox_serves_either_a_task_or_a_spec(session: AsyncSession, subjects: str) -> None:
    task = await a_task(session, MemoryBus())
    wrong = {"task_id": task.id} if subjects == "both" else {"task_id": None}
    sandbox, _ = await a_spec_sandbox(session, now=NOON)

    sandbox.task_id = wrong["task_id"]
    if subjects == "neither":
        sandbox.spec_id = None

    with pytest.raises(IntegrityError, match="ck_sandboxes_one_subject"):
        await session.flush()


async def test_one_work_sandbox_of_a_spec_is_alive_at_a_time(session: AsyncSession) -> None:
    spec_id = uuid4()
    await a_spec_sandbox(session, now=NOON, spec_id=spec_id, status=SandboxState.STOPPED)
    await a_spec_sandbox(session, now=NOON, spec_id=spec_id, purpose=Purpose.VERIFY)
    await a_spec_sandbox(session, now=NOON, spec_id=spec_id)

    with pytest.raises(IntegrityError, match="uq_sandboxes_one_alive_per_spec"):
        await a_spec_sandbox(session, now=NOON, spec_id=spec_id)


async def test_a_sandbox_of_a_spec_is_listed_found_and_shown(
    ada: httpx.AsyncClient, bob: httpx.AsyncClient, spec_worker: Worker, spec_id: UUID
) -> None:
    shown = (await ada.get(spec_worker.path())).json()

    assert (shown["task_id"], shown["spec_id"], shown["task_title"]) == (None, str(spec_id), None)
    assert (shown["status"], shown["outcome"]) == ("creating", "in_progress")
    for params in ({}, {"q": "spec-"}, {"project_id": shown["project_id"]}, {"status": "creating"}):
        assert (await ada.get("/sandboxes", params=params)).json()["items"] == [shown]
    assert (await ada.get("/sandboxes", params={"q": "Add a page"})).json()["items"] == []
    assert (await ada.get("/sandboxes", params={"task_id": str(uuid4())})).json()["items"] == []
    assert (await ada.get("/sandboxes/health")).json() == {"status": "ok"}
    assert (await bob.get("/sandboxes")).json()["items"] == []
    assert (await bob.get(spec_worker.path())).status_code == 404


async def test_it_has_no_task_to_read(ada: httpx.AsyncClient, spec_worker: Worker, spec_id: UUID) -> None:
    for client in (ada, spec_worker.client):
        answer = await client.get(spec_worker.path("/task"))
        assert (answer.status_code, str(spec_id) in answer.json()["detail"]) == (404, True)


async def test_its_events_are_stored_and_read(ada: httpx.AsyncClient, spec_worker: Worker) -> None:
    kinds = ["agent.started", "agent.message", "agent.completed"]
    for seq, kind in enumerate(kinds, start=1):
        body = {"event_type": kind, "event_data": {"success": True} if kind == "agent.completed" else {}, "seq": seq}
        answer = await spec_worker.client.post(spec_worker.path("/events"), json=body)
        assert (answer.status_code, answer.json()["status"]) == (200, "received"), answer.text

    listed = (await ada.get(spec_worker.path("/events"), params={"order": "asc"})).json()
    assert [item["event_type"] for item in listed["items"]] == kinds
    assert (await ada.get(spec_worker.path("/trajectory"))).json()["total_count"] == 3
    assert (await ada.get(spec_worker.path())).json()["status"] == "running"


@pytest.mark.parametrize("way", PATHS)
async def test_every_path_stores_its_events(sessions: Sessions, way: str) -> None:
    async with sessions.begin() as session:
        sandbox, token = await a_spec_sandbox(session, now=NOON, status=SandboxState.RUNNING)
    path = PATHS[way](sessions)

    for seq in (1, 2):
        result = await path.post(Reporter(sandbox.id, token), {"seq": seq})
        assert isinstance(result, BatchResult)
        assert (result.accepted, result.last_seq) == (1, seq)

    # The fast paths store them without the careful one.
    assert path.left_over == 0


async def test_its_agent_receives_messages_until_it_ends(
    ada: httpx.AsyncClient, spec_worker: Worker, app: FastAPI, spec_id: UUID
) -> None:
    sent = await ada.post(spec_worker.path("/messages"), json={"content": "Prefer the small design."})
    waiting = (await spec_worker.client.get(spec_worker.path("/messages"))).json()["items"]
    assert [item["message_id"] for item in waiting] == [sent.json()["message_id"]]

    await end_sandbox(app, spec_worker.id)

    refused = await ada.post(spec_worker.path("/messages"), json={"content": "Too late."})
    assert refused.status_code == 409
    assert f"spec {spec_id} has ended (test)" in refused.json()["detail"]


async def test_messages_and_conversations_of_one_spec_never_reach_another(
    ada: httpx.AsyncClient, app: FastAPI, spec_worker: Worker, project_id: str, spec_id: UUID
) -> None:
    other, other_token = await add_sandbox(app, project_id)
    await ada.post(spec_worker.path("/messages"), json={"content": "For this spec alone."})
    waiting = (await spec_worker.client.get(spec_worker.path("/messages"))).json()["items"]
    ids = [item["message_id"] for item in waiting]
    await spec_worker.client.post(spec_worker.path("/messages/ack"), json={"message_ids": ids})
    line = json.dumps({"type": "user", "sessionId": "of-this-spec"}).encode()
    saved = await spec_worker.client.put(spec_worker.path("/transcript"), content=line)
    assert saved.status_code == 200, saved.text

    lost = {"event_type": "agent.error", "event_data": {"error": "gone", "conversation_lost": True}}
    async with calling(app, other_token) as client:
        assert (await client.get(f"/sandboxes/{other.id}/session")).status_code == 404
        assert (await client.post(f"/sandboxes/{other.id}/events", json=lost)).status_code == 200
        assert (await client.get(f"/sandboxes/{other.id}/messages")).json()["items"] == []

    await end_sandbox(app, spec_worker.id)
    successor, token = await add_sandbox(app, project_id, spec_id=spec_id, fence=2)
    async with calling(app, token) as client:
        resumed = await client.get(f"/sandboxes/{successor.id}/session")
        assert (resumed.headers["X-Session-Id"], resumed.content) == ("of-this-spec", line)
        assert (await client.post(f"/sandboxes/{successor.id}/events", json=lost)).status_code == 200
        again = (await client.get(f"/sandboxes/{successor.id}/messages")).json()["items"]
        assert [item["message_id"] for item in again] == ids


async def test_a_person_stops_it(
    ada: httpx.AsyncClient, spec_worker: Worker, sessions: Sessions, spec_id: UUID
) -> None:
    stopped = await ada.delete(spec_worker.path())

    assert (stopped.status_code, stopped.json()["status"]) == (202, "stopping")
    async with sessions() as session:
        query = select(Outbox).where(Outbox.change == Change.SANDBOX_STATUS, Outbox.sandbox_id == spec_worker.id)
        data = (await session.execute(query)).scalar_one().data or {}
    assert (data["task_id"], data["spec_id"], data["status"]) == (None, str(spec_id), "stopping")


async def test_its_stream_of_events_ends_with_it(ada: httpx.AsyncClient, spec_worker: Worker, app: FastAPI) -> None:
    await end_sandbox(app, spec_worker.id)

    answer = await ada.get(spec_worker.path("/events/stream"))

    assert "sandbox.terminated" in answer.text


async def test_it_is_counted_by_the_metrics_but_not_as_an_attempt(
    admin: httpx.AsyncClient, spec_worker: Worker, app: FastAPI
) -> None:
    alive = (await admin.get("http://omoi/metrics")).text
    assert 'omoi_sandboxes{provider="local",purpose="work",status="creating"} 1.0' in alive

    await end_sandbox(app, spec_worker.id)

    ended = (await admin.get("http://omoi/metrics")).text
    assert 'omoi_attempts_ended{outcome="no_result"} 0.0' in ended


async def test_its_data_is_deleted_after_the_retention(session: AsyncSession) -> None:
    sandbox, _ = await a_spec_sandbox(session, now=NOON)
    alive = await retention.next_to_prune(session, now=NOON + timedelta(days=40), default_days=30)
    await service.end(session, MemoryBus(), sandbox, state=SandboxState.STOPPED, reason="done", now=NOON)
    await session.flush()

    early = await retention.next_to_prune(session, now=NOON + timedelta(days=20), default_days=30)
    late = await retention.next_to_prune(session, now=NOON + timedelta(days=40), default_days=30)

    assert (alive, early, late) == (None, None, sandbox.id)
    await retention.prune_one(session, sandbox.id, now=NOON)
    assert await repository.list_events(session, sandbox.id, limit=10) == []
