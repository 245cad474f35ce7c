"""Messages in a request to the model are marked as seen, once, and only those of the calling sandbox."""

import json
from pathlib import Path
from typing import Any
from uuid import UUID

import pytest
from sqlalchemy import select

from omoi_os.bus.postgres import PostgresBus
from omoi_os.db.base import Sessions, make_engine, make_sessions
from omoi_os.gateway.context import PARTS
from omoi_os.gateway.model.seen_messages import MAX_FRESH, Sightings
from omoi_os.ids import uuid7
from omoi_os.protocol.messages import Deliver, Message, MessageType
from omoi_os.sandboxes import repository
from omoi_os.sandboxes.messages import service as messages
from omoi_os.sandboxes.models import SandboxMessage
from omoi_os.stream.models import Change, Outbox
from tests.conftest import NOON
from tests.gateway.answers import BODY, STREAM, streaming
from tests.gateway.conftest import OpenSocket, Start
from tests.gateway.places import GatewaySocket, Host


async def say(sessions: Sessions, bus: PostgresBus, gateway_socket: GatewaySocket, *, delivered: bool) -> UUID:
    async with sessions.begin() as session:
        sandbox = await repository.lock(session, gateway_socket.sandbox.id)
        draft = messages.NewMessage("hello", MessageType.USER_MESSAGE, Deliver.NEXT_TOOL)
        sender = messages.Sender("user:ada@example.org")
        message_id = await messages.queue(session, bus, sandbox.id, draft, sender=sender, now=NOON)
        if delivered:
            await messages.mark_delivered(session, bus, sandbox, str(message_id), NOON)
        return message_id


def with_marks(*ids: UUID) -> dict[str, Any]:
    marked = [Message(str(one), "user_message", "hello", "next_tool", "user:a@b").marked() for one in ids]
    note = "<system-reminder>\nPostToolUse:Bash hook additional context: " + "\n".join(marked) + "\n</system-reminder>"
    result = {"type": "tool_result", "tool_use_id": "t", "content": f"42\n\n{note}"}
    return BODY | {"messages": [{"role": "user", "content": [result]}]}


async def status(sessions: Sessions, message_id: UUID) -> str:
    async with sessions() as session:
        return messages.status_of(await session.get_one(SandboxMessage, message_id))


@pytest.mark.parametrize("path", ["/v1/messages", "/v1/messages?beta=true"])
async def test_a_message_in_a_request_to_the_model_is_seen(
    open_socket: OpenSocket,
    start: Start,
    model: Host,
    sessions: Sessions,
    *,
    bus: PostgresBus,
    path: str,
) -> None:
    gateway_socket = await open_socket()
    runner = await start()
    model.answer = streaming(*STREAM)
    delivered, undelivered = [await say(sessions, bus, gateway_socket, delivered=flag) for flag in (True, False)]

    async with gateway_socket.client() as client:
        async with client.post(path, json=with_marks(delivered, undelivered)) as answer:
            assert await answer.read() == b"".join(STREAM)
    await runner.app[PARTS].background.finish(timeout=30)

    assert await status(sessions, delivered) == "seen"
    assert await status(sessions, undelivered) == "queued"


async def test_counting_tokens_is_not_seeing(
    open_socket: OpenSocket, start: Start, sessions: Sessions, bus: PostgresBus
) -> None:
    gateway_socket = await open_socket()
    runner = await start()
    message_id = await say(sessions, bus, gateway_socket, delivered=True)

    async with gateway_socket.client() as client:
        async with client.post("/v1/messages/count_tokens", json=with_marks(message_id)) as answer:
            assert answer.status == 200
    await runner.app[PARTS].background.finish(timeout=30)

    assert await status(sessions, message_id) == "delivered"


async def test_another_sandbox_s_message_is_not_seen(
    open_socket: OpenSocket, sessions: Sessions, bus: PostgresBus
) -> None:
    mine, other = await open_socket(), await open_socket()
    message_id = await say(sessions, bus, other, delivered=True)
    sightings = Sightings(sessions, bus)

    body = json.dumps(with_marks(message_id)).encode()
    await sightings.record(mine.sandbox.id, sightings.fresh(mine.sandbox.id, body))
    assert await status(sessions, message_id) == "delivered"
    await sightings.record(other.sandbox.id, sightings.fresh(other.sandbox.id, body))

    assert await status(sessions, message_id) == "seen"


async def test_recorded_messages_are_not_looked_up_again(
    open_socket: OpenSocket, sessions: Sessions, bus: PostgresBus
) -> None:
    gateway_socket = await open_socket()
    message_id = await say(sessions, bus, gateway_socket, delivered=True)
    sightings = Sightings(sessions, bus)
    body = json.dumps(with_marks(message_id)).encode()

    assert sightings.fresh(gateway_socket.sandbox.id, json.dumps(BODY).encode()) == set()
    found = sightings.fresh(gateway_socket.sandbox.id, body)
    assert found == {str(message_id)}
    await sightings.record(gateway_socket.sandbox.id, found)
    assert sightings.fresh(gateway_socket.sandbox.id, body) == set()
    # A restart forgets it, and its receipt stays what it was.
    again = Sightings(sessions, bus)
    await again.record(gateway_socket.sandbox.id, again.fresh(gateway_socket.sandbox.id, body))
    async with sessions() as session:
        query = select(Outbox).where(Outbox.change == Change.MESSAGE_STATUS).order_by(Outbox.xid, Outbox.id)
        told = [(row.data or {})["status"] for row in (await session.execute(query)).scalars()]
    assert told == ["queued", "delivered", "seen"]


async def test_a_message_that_is_queued_for_a_conversation_that_carried_it_before_is_seen_too(
    open_socket: OpenSocket, sessions: Sessions, bus: PostgresBus, monkeypatch: pytest.MonkeyPatch
) -> None:
    mine, other = await open_socket(), await open_socket()
    message_id = await say(sessions, bus, other, delivered=True)
    sightings = Sightings(sessions, bus)
    body = json.dumps(with_marks(message_id)).encode()
    await sightings.record(mine.sandbox.id, sightings.fresh(mine.sandbox.id, body))
    async with sessions.begin() as session:
        (await session.get_one(SandboxMessage, message_id)).sandbox_id = mine.sandbox.id
    assert sightings.fresh(mine.sandbox.id, body) == set()

    monkeypatch.setattr("omoi_os.gateway.model.seen_messages.AGAIN_SECONDS", 0.0)
    await sightings.record(mine.sandbox.id, sightings.fresh(mine.sandbox.id, body))

    assert await status(sessions, message_id) == "seen"


async def test_messages_that_could_not_be_recorded_are_recorded_later(
    open_socket: OpenSocket, bus: PostgresBus, short_tmp: Path
) -> None:
    gateway_socket = await open_socket()
    engine = make_engine(f"postgresql://nobody@/none?host={short_tmp}")
    sightings = Sightings(make_sessions(engine), bus)
    body = json.dumps(with_marks(uuid7())).encode()

    found = sightings.fresh(gateway_socket.sandbox.id, body)
    await sightings.record(gateway_socket.sandbox.id, found)

    assert sightings.fresh(gateway_socket.sandbox.id, body) == found != set()
    await engine.dispose()


async def test_marks_that_an_agent_makes_up_are_bounded(
    open_socket: OpenSocket, sessions: Sessions, bus: PostgresBus
) -> None:
    gateway_socket = await open_socket()
    sightings = Sightings(sessions, bus)
    body = json.dumps(with_marks(*(uuid7() for _ in range(3 * MAX_FRESH)))).encode()

    found = [sightings.fresh(gateway_socket.sandbox.id, body) for _ in range(4)]

    assert [len(fresh) for fresh in found] == [MAX_FRESH, MAX_FRESH, MAX_FRESH, 0]
    await sightings.record(gateway_socket.sandbox.id, found[0])
