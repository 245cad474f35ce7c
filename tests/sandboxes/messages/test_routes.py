"""Messages over HTTP: people send them, the worker waits for them, acknowledges them, and receipts are shown."""

import asyncio
from datetime import UTC, datetime
from typing import Any
from uuid import uuid4

import httpx
import pytest
from fastapi import FastAPI
from sqlalchemy import func, select

from omoi_os.db.base import make_engine, make_sessions
from omoi_os.protocol.messages import Deliver, Message, MessageType
from omoi_os.sandboxes.messages import repository as message_repository
from omoi_os.sandboxes.messages import service as messages
from omoi_os.sandboxes.models import SandboxMessage
from tests.api.conftest import MODEL_KEY, Worker, end_sandbox, working
from tests.tasks.test_routes import fail


async def send(client: httpx.AsyncClient, worker: Worker, content: str = "hello", **fields: Any) -> dict[str, Any]:
    answer = await client.post(worker.path("/messages"), json={"content": content} | fields)
    assert answer.status_code == 201, answer.text
    made: dict[str, Any] = answer.json()
    return made


async def poll(worker: Worker, **params: Any) -> list[dict[str, Any]]:
    answer = await worker.client.get(worker.path("/messages"), params=params, timeout=30)
    assert answer.status_code == 200, answer.text
    items: list[dict[str, Any]] = answer.json()["items"]
    return items


async def history(client: httpx.AsyncClient, worker: Worker, **params: Any) -> list[dict[str, Any]]:
    items: list[dict[str, Any]] = (await client.get(worker.path("/messages/history"), params=params)).json()["items"]
    return items


async def listening(app: FastAPI) -> None:
    """Wait until the first long poll receives wake-ups."""
    async with asyncio.timeout(30):
        await app.state.waiters._ready.wait()


async def test_a_message_is_queued_handed_to_the_worker_and_shown(ada: httpx.AsyncClient, worker: Worker) -> None:
    sent = await send(ada, worker, "also print C(10,5)")

    assert sent == {"status": "queued", "message_id": sent["message_id"], "sandbox_id": worker.id}
    (item,) = await poll(worker)
    assert Message.from_json(item) == Message(
        sent["message_id"], "user_message", "also print C(10,5)", "next_tool", "user:ada@example.org"
    )
    (shown,) = await history(ada, worker)
    assert shown == item | {"status": "queued", "delivered_at": None, "seen_at": None, "redeliveries": 0}


@pytest.mark.parametrize(
    ("sent", "stored"),
    [
        ({}, ("user_message", "next_tool")),
        ({"deliver": "end_of_turn"}, ("user_message", "end_of_turn")),
        ({"deliver": "now"}, ("user_message", "now")),
        ({"message_type": "interrupt"}, ("interrupt", "now")),
        ({"message_type": "interrupt", "deliver": "now"}, ("interrupt", "now")),
    ],
)
async def test_an_interrupt_comes_now_and_the_rest_at_the_next_tool(
    ada: httpx.AsyncClient, worker: Worker, sent: dict[str, str], stored: tuple[str, str]
) -> None:
    await send(ada, worker, **sent)

    (item,) = await poll(worker)
    assert (item["message_type"], item["deliver"]) == stored


@pytest.mark.parametrize(
    "body",
    [
        {},
        {"content": ""},
        {"content": " \n"},
        {"content": "x" * 65_537},
        {"content": "\u00fc" * 32_769},
        {"content": "a\0b"},
        {"content": 3},
        {"content": "x", "message_type": "shout"},
        {"content": "x", "deliver": "yesterday"},
        {"content": "x", "message_type": "interrupt", "deliver": "end_of_turn"},
        {"content": "x", "sender": "user:root@example.org"},
    ],
)
async def test_what_makes_no_sense_is_refused(ada: httpx.AsyncClient, worker: Worker, body: dict[str, Any]) -> None:
    answer = await ada.post(worker.path("/messages"), json=body)

    assert answer.status_code == 422
    assert await history(ada, worker) == []


async def test_all_that_waits_is_handed_out_at_once(ada: httpx.AsyncClient, worker: Worker) -> None:
    sent = [(await send(ada, worker, str(number)))["message_id"] for number in range(30)]

    assert [item["message_id"] for item in await poll(worker)] == sent


async def test_the_largest_message_fits_and_a_full_answer_is_one_that_the_worker_reads(
    ada: httpx.AsyncClient, worker: Worker
) -> None:
    for _ in range(21):
        await send(ada, worker, "\x01" * 65_536)

    answer = await worker.client.get(worker.path("/messages"))

    assert len(answer.json()["items"]) == 20
    assert len(answer.content) < 8 * 1024 * 1024
    last = answer.json()["items"][-1]["message_id"]
    assert len(await poll(worker, after=last)) == 1


async def test_the_same_key_queues_once(ada: httpx.AsyncClient, worker: Worker) -> None:
    headers = {"Idempotency-Key": "k1"}
    first, second = [await ada.post(worker.path("/messages"), json={"content": "x"}, headers=headers) for _ in range(2)]

    assert (first.status_code, second.status_code) == (201, 201)
    assert first.json() == second.json()
    assert len(await history(ada, worker)) == 1


async def test_not_acknowledged_is_handed_out_again_and_acknowledged_is_not(
    ada: httpx.AsyncClient, worker: Worker
) -> None:
    ids = [(await send(ada, worker, text))["message_id"] for text in ("one", "two", "three")]
    assert [item["message_id"] for item in await poll(worker)] == ids
    assert [item["message_id"] for item in await poll(worker)] == ids
    stranger = str(uuid4())

    body = {"message_ids": [ids[1], stranger, "x"]}
    answers = [await worker.client.post(worker.path("/messages/ack"), json=body) for _ in range(2)]

    assert {answer.status_code for answer in answers} == {200}
    assert answers[0].json() == answers[1].json() == {"acknowledged": [ids[1]], "unknown": [stranger, "x"]}
    assert [item["message_id"] for item in await poll(worker)] == [ids[0], ids[2]]
    assert [item["message_id"] for item in await poll(worker, after=ids[0])] == [ids[2]]


async def test_a_waiting_worker_gets_the_message_when_it_is_sent(
    app: FastAPI, ada: httpx.AsyncClient, worker: Worker
) -> None:
    polling = asyncio.create_task(poll(worker, wait=25))
    await listening(app)

    sent = await send(ada, worker)

    async with asyncio.timeout(10):
        assert [item["message_id"] for item in await polling] == [sent["message_id"]]


async def test_those_who_wait_hold_no_connection(
    app: FastAPI, ada: httpx.AsyncClient, worker: Worker, database_url: str
) -> None:
    engine = make_engine(database_url, pool_size=1)
    app.state.sessions = make_sessions(engine)
    polling = [asyncio.create_task(poll(worker, wait=25)) for _ in range(4)]
    await listening(app)

    sent = await send(ada, worker)

    async with asyncio.timeout(20):
        answers = await asyncio.gather(*polling)
    assert [[item["message_id"] for item in answer] for answer in answers] == [[sent["message_id"]]] * 4
    await engine.dispose()


async def test_a_worker_that_waits_in_vain_is_answered_empty(worker: Worker) -> None:
    assert await poll(worker, wait=0.05) == []


async def test_the_end_of_the_sandbox_ends_the_wait(app: FastAPI, worker: Worker) -> None:
    polling = asyncio.create_task(worker.client.get(worker.path("/messages"), params={"wait": 25}, timeout=30))
    await listening(app)

    await end_sandbox(app, worker.id)

    answer = await asyncio.wait_for(polling, 10)
    assert (answer.status_code, answer.json()["code"]) == (409, "stale_fence")


async def test_an_ended_sandbox_says_how_to_go_on(app: FastAPI, ada: httpx.AsyncClient, worker: Worker) -> None:
    await end_sandbox(app, worker.id)

    answer = await ada.post(worker.path("/messages"), json={"content": "hello"})

    assert (answer.status_code, answer.json()["code"]) == (409, "conflict")
    assert f"POST /api/v1/tasks/{worker.task_id}/retry" in answer.json()["detail"]
    for call in (worker.client.get(worker.path("/messages")), worker.client.post(worker.path("/messages/ack"))):
        refused = await call
        assert (refused.status_code, refused.json()["code"]) == (409, "stale_fence")


async def test_a_message_to_an_ended_sandbox_names_a_call_that_works(
    app: FastAPI, ada: httpx.AsyncClient, worker: Worker
) -> None:
    await end_sandbox(app, worker.id)
    await fail(app, worker.task_id)

    refused = (await ada.post(worker.path("/messages"), json={"content": "x"})).json()["detail"]

    call = f"POST /api/v1/tasks/{worker.task_id}/retry"
    assert call in refused
    assert (await ada.post(f"/tasks/{worker.task_id}/retry", json={"message": "x"})).status_code == 200
    await ada.post(f"/tasks/{worker.task_id}/cancel")
    refused = (await ada.post(worker.path("/messages"), json={"content": "x"})).json()["detail"]
    task = (await ada.get(f"/tasks/{worker.task_id}")).json()
    assert f'POST /api/v1/tasks {{"ticket_id": "{task["ticket_id"]}", "title": …}}' in refused


@pytest.mark.parametrize("wait", ["-1", "61", "nan", "inf", "x"])
async def test_nobody_waits_for_ever(worker: Worker, wait: str) -> None:
    assert (await worker.client.get(worker.path("/messages"), params={"wait": wait})).status_code == 422


@pytest.mark.parametrize("message_type", MessageType)
async def test_an_administrator_sends_messages_of_every_type(
    admin: httpx.AsyncClient, worker: Worker, message_type: str
) -> None:
    body = {"content": "x", "message_type": message_type}
    assert (await admin.post(worker.path("/messages"), json=body)).status_code == 201
    (item,) = await poll(worker)
    assert (item["message_type"], item["sender"]) == (message_type, "user:root@example.org")


async def test_the_platform_speaks_with_a_sender_of_its_own(app: FastAPI, worker: Worker) -> None:
    async with app.state.sessions.begin() as session:
        draft = messages.NewMessage("look at the tests", MessageType.GUARDIAN_NUDGE, Deliver.NEXT_TOOL)
        sender = messages.Sender("guardian")
        await messages.queue(session, app.state.bus, worker.id, draft, sender=sender, now=datetime.now(UTC))

    (item,) = await poll(worker)
    assert (item["message_type"], item["sender"]) == ("guardian_nudge", "guardian")


async def test_receipts_are_shown_as_they_come(app: FastAPI, ada: httpx.AsyncClient, worker: Worker) -> None:
    sent = await send(ada, worker)
    event = {"event_type": "agent.message_injected", "event_data": {"message_id": sent["message_id"]}, "seq": 1}

    assert (await worker.client.post(worker.path("/events"), json=event)).status_code == 200
    (delivered,) = await history(ada, worker)
    async with app.state.sessions.begin() as session:
        found = await message_repository.history(session, worker.id, order="asc", limit=1, beyond=None)
        await messages.mark_seen(session, app.state.bus, worker.id, [found[0].id], now=datetime.now(UTC))
    (seen,) = await history(ada, worker)

    assert (delivered["status"], seen["status"]) == ("delivered", "seen")
    assert delivered["seen_at"] is None
    assert seen["queued_at"] <= seen["delivered_at"] <= seen["seen_at"]
    assert await poll(worker) == []


async def test_the_history_is_paged_both_ways(ada: httpx.AsyncClient, worker: Worker) -> None:
    ids = [(await send(ada, worker, str(number)))["message_id"] for number in range(5)]
    for order, expected in (("asc", ids), ("desc", ids[::-1])):
        found, cursor = [], None
        for _ in range(3):
            params: dict[str, Any] = {"order": order, "limit": 2} | ({"cursor": cursor} if cursor else {})
            page = (await ada.get(worker.path("/messages/history"), params=params)).json()
            found += [item["message_id"] for item in page["items"]]
            cursor = page["next_cursor"]
        assert (found, cursor, page["sandbox_id"]) == (expected, None, worker.id)


async def test_a_known_secret_does_not_go_into_the_sandbox(ada: httpx.AsyncClient, worker: Worker) -> None:
    await send(ada, worker, f"use {MODEL_KEY}")

    assert [item["content"] for item in await poll(worker)] == ["use [masked]"]


async def test_many_senders_at_once_are_all_heard_once(app: FastAPI, ada: httpx.AsyncClient, worker: Worker) -> None:
    await asyncio.gather(*(send(ada, worker, str(number)) for number in range(40)))

    first = await poll(worker)
    rest = await poll(worker, after=first[-1]["message_id"])
    assert sorted(int(item["content"]) for item in [*first, *rest]) == list(range(40))
    ids = [item["message_id"] for item in [*first, *rest]]
    assert ids == sorted(ids)
    async with working(app, ada) as other:
        assert await poll(other) == []
    async with app.state.sessions() as session:
        assert (await session.execute(select(func.count()).select_from(SandboxMessage))).scalar_one() == 40
