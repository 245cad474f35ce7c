"""Attacks on messages: who may read, send and sign them, and what too many or too large ones do."""

import json
from typing import Any

import httpx
import pytest
from fastapi import FastAPI
from sqlalchemy import text

from omoi_os.gateway.model.seen_messages import Sightings
from omoi_os.protocol.messages import Message
from omoi_os.sandboxes.messages.service import MAX_QUEUED
from tests.api.conftest import Worker, calling, working


async def send(client: httpx.AsyncClient, path: str, **body: Any) -> httpx.Response:
    return await client.post(path, json={"content": "hello"} | body)


async def history(client: httpx.AsyncClient, worker: Worker) -> list[dict[str, Any]]:
    items: list[dict[str, Any]] = (await client.get(worker.path("/messages/history"))).json()["items"]
    return items


async def test_a_sandbox_reads_and_acknowledges_nothing_of_another(
    app: FastAPI, ada: httpx.AsyncClient, worker: Worker
) -> None:
    message_id = (await send(ada, worker.path("/messages"))).json()["message_id"]
    async with working(app, ada) as other:
        # Positive control: the same calls with the right token work.
        assert len((await worker.client.get(worker.path("/messages"))).json()["items"]) == 1

        stolen = await other.client.get(worker.path("/messages"), params={"wait": 1})
        missing = await other.client.get("/sandboxes/omoios-00000000-000000/messages")
        acked = await other.client.post(worker.path("/messages/ack"), json={"message_ids": [message_id]})
        own = await other.client.post(other.path("/messages/ack"), json={"message_ids": [message_id]})
        event = {"event_type": "agent.message_injected", "event_data": {"message_id": message_id}, "seq": 1}
        claimed = await other.client.post(other.path("/events"), json=event)

    assert [answer.status_code for answer in (stolen, missing, acked)] == [404, 404, 404]
    assert own.json() == {"acknowledged": [], "unknown": [message_id]}
    assert claimed.status_code == 200
    assert [item["status"] for item in await history(ada, worker)] == ["queued"]
    assert len((await worker.client.get(worker.path("/messages"))).json()["items"]) == 1


@pytest.mark.parametrize("token", [None, "sbx_" + "x" * 43, "omoi_" + "x" * 43])
async def test_without_a_known_token_nothing_is_read_or_sent(app: FastAPI, worker: Worker, token: str | None) -> None:
    async with calling(app, token) as stranger:
        answers = [
            await stranger.get(worker.path("/messages"), params={"wait": 25}),
            await stranger.get(worker.path("/messages/history")),
            await send(stranger, worker.path("/messages")),
            await stranger.post(worker.path("/messages/ack"), json={"message_ids": []}),
        ]

    assert {answer.status_code for answer in answers} == {401}


async def test_another_tenant_neither_reads_nor_sends(
    ada: httpx.AsyncClient, bob: httpx.AsyncClient, worker: Worker
) -> None:
    await send(ada, worker.path("/messages"))

    for answer in (
        await send(bob, worker.path("/messages")),
        await bob.get(worker.path("/messages/history")),
    ):
        assert answer.status_code == 404
    assert len(await history(ada, worker)) == 1


async def test_a_sandbox_sends_nothing_and_a_person_does_not_stand_in_for_the_worker(
    ada: httpx.AsyncClient, worker: Worker
) -> None:
    for answer in (
        await send(worker.client, worker.path("/messages")),
        await worker.client.get(worker.path("/messages/history")),
        await ada.get(worker.path("/messages"), params={"wait": 25}),
        await ada.post(worker.path("/messages/ack"), json={"message_ids": []}),
    ):
        assert answer.status_code == 403
    assert await history(ada, worker) == []


@pytest.mark.parametrize("message_type", ["guardian_nudge", "collaboration", "system"])
async def test_nobody_speaks_in_anothers_name(
    ada: httpx.AsyncClient, admin: httpx.AsyncClient, worker: Worker, message_type: str
) -> None:
    path = worker.path("/messages")

    assert (await send(ada, path, message_type=message_type)).status_code == 403
    assert (await send(ada, path, sender="guardian")).status_code == 422
    assert (await send(admin, path, message_type=message_type, sender="guardian")).status_code == 422
    assert await history(ada, worker) == []
    assert (await send(admin, path, message_type=message_type)).status_code == 201
    assert [item["sender"] for item in await history(ada, worker)] == ["user:root@example.org"]


async def test_a_mark_that_the_agent_writes_makes_nothing_seen(
    app: FastAPI, ada: httpx.AsyncClient, worker: Worker
) -> None:
    message_id = (await send(ada, worker.path("/messages"))).json()["message_id"]
    forged = Message(message_id, "user_message", "I have read it.", "now", "user:ada@example.org").marked()
    body = json.dumps({"messages": [{"role": "user", "content": forged}]}).encode()
    sightings = Sightings(app.state.sessions, app.state.bus)
    found = sightings.fresh(worker.id, body)
    assert found == {message_id}

    await sightings.record(worker.id, found)

    (shown,) = await history(ada, worker)
    assert (shown["status"], shown["delivered_at"], shown["seen_at"]) == ("queued", None, None)
    assert len((await worker.client.get(worker.path("/messages"))).json()["items"]) == 1
    event = {"event_type": "agent.message_injected", "event_data": {"message_id": message_id}, "seq": 1}
    await worker.client.post(worker.path("/events"), json=event)
    # Positive control: with its delivery reported, the same mark counts.
    assert [item["status"] for item in await history(ada, worker)] == ["seen"]


@pytest.mark.parametrize(
    ("raw", "status"),
    [
        (json.dumps({"content": "x" * (2 << 20)}).encode(), 413),
        (json.dumps({"content": "x" * (100 << 10)}).encode(), 422),
        (b'{"content": "\\ud800"}', 422),
        (b'{"content": "\\u0000"}', 422),
        (b'{"content": "\xff"}', 422),
        (b'{"content": ' + b"[" * 10_000 + b"]" * 10_000 + b"}", 422),
        (b'{"content": "x", "deliver": 1e999}', 422),
    ],
)
async def test_poison_hurts_its_sender_only(ada: httpx.AsyncClient, worker: Worker, raw: bytes, status: int) -> None:
    answer = await ada.post(worker.path("/messages"), content=raw, headers={"Content-Type": "application/json"})

    assert answer.status_code == status
    assert (await send(ada, worker.path("/messages"))).status_code == 201
    assert len(await history(ada, worker)) == 1


async def test_ten_thousand_messages_stop_at_the_limit_and_disturb_nobody_else(
    app: FastAPI, ada: httpx.AsyncClient, worker: Worker
) -> None:
    async with app.state.sessions.begin() as session:
        await session.execute(
            text(
                "INSERT INTO sandbox_messages (id, sandbox_id, message_type, content, deliver, sender, acked_at)"
                " SELECT gen_random_uuid(), :sandbox, 'user_message', 'x', 'now', 'user:a@b', now()"
                " FROM generate_series(1, 9900)"
            ),
            {"sandbox": worker.id},
        )
    answers = [await send(ada, worker.path("/messages")) for _ in range(MAX_QUEUED + 5)]

    assert [answer.status_code for answer in answers] == [201] * MAX_QUEUED + [429] * 5
    assert {answer.headers.get("Retry-After") for answer in answers[MAX_QUEUED:]} == {"1"}
    assert len((await worker.client.get(worker.path("/messages"))).json()["items"]) == MAX_QUEUED
    async with working(app, ada) as other:
        assert (await send(ada, other.path("/messages"))).status_code == 201
