"""One sandbox's events as server-sent events."""

import asyncio
import json
from collections.abc import AsyncIterator

import httpx
import pytest
from sqlalchemy import text

from omoi_os.bus.memory import MemoryBus
from omoi_os.db.base import Sessions
from omoi_os.protocol.events import EventType
from omoi_os.sandboxes import repository, service
from omoi_os.sandboxes.ingest.event_log import append_platform_event
from omoi_os.sandboxes.lifecycle import SandboxState
from tests.conftest import NOON
from tests.stream.servers import Json, Place, Server, a_person, a_place


async def _blocks(response: httpx.Response) -> AsyncIterator[tuple[int, Json]]:
    """Each event; everything in a stream has to be one, or a comment."""
    waiting = b""
    async for chunk in response.aiter_bytes():
        waiting += chunk
        while b"\n\n" in waiting:
            block, _, waiting = waiting.partition(b"\n\n")
            if block.startswith(b":"):
                continue
            number, data = block.split(b"\n")
            assert number.startswith(b"id: ")
            assert data.startswith(b"data: ")
            yield int(number[4:]), json.loads(data[6:])


async def _end(sessions: Sessions, place: Place) -> None:
    async with sessions.begin() as session:
        row = await repository.lock(session, place.sandbox_id)
        await service.end(session, MemoryBus(), row, state=SandboxState.STOPPED, reason="test", now=NOON)


async def test_it_goes_on_while_the_sandbox_works_and_ends_with_it(server: Server, sessions: Sessions) -> None:
    place = await a_place(sessions)
    path = f"/sandboxes/{place.sandbox_id}/events/stream"
    heard: list[tuple[int, Json]] = []
    async with server.client() as client, client.stream("GET", path) as response, asyncio.timeout(30):
        assert response.headers["content-type"].startswith("text/event-stream")
        async for block in _blocks(response):
            heard.append(block)
            if block[0] == 1:
                await place.post(client, 2)
            if block[0] == 3:
                await _end(sessions, place)
        listed = (await client.get(f"/sandboxes/{place.sandbox_id}/events?order=asc")).json()["items"]
        resumed = await client.get(path, headers={"Last-Event-ID": "2"})
        also = await client.get(path, params={"since": 2})
    assert heard == [(item["seq"], item) for item in listed]
    assert [line for line in resumed.text.split("\n") if line.startswith("id")] == ["id: 3", "id: 4"]
    assert also.text == resumed.text


async def test_it_does_not_end_before_the_result_of_an_ended_sandbox_was_checked(
    server: Server, sessions: Sessions
) -> None:
    place = await a_place(sessions)
    async with sessions.begin() as session:
        await session.execute(text("UPDATE tasks SET status = 'verifying', sandbox_id = :id"), {"id": place.sandbox_id})
    await _end(sessions, place)
    heard: list[str] = []
    path = f"/sandboxes/{place.sandbox_id}/events/stream"
    async with server.client() as client, client.stream("GET", path) as response, asyncio.timeout(30):
        async for _, event in _blocks(response):
            heard.append(event["event_type"])
            if heard[-1] == "sandbox.terminated":
                async with sessions.begin() as session:
                    row = await repository.lock(session, place.sandbox_id)
                    append_platform_event(session, row, EventType.TASK_VERIFIED, {"verified": True}, now=NOON)
                    await session.execute(text("UPDATE tasks SET status = 'completed'"))

    assert heard[-2:] == ["sandbox.terminated", "task.verified"]


async def test_nothing_in_a_payload_breaks_the_framing(server: Server, sessions: Sessions) -> None:
    place = await a_place(sessions)
    evil = 'x\n\nevent: forged\ndata: {"seq": 99}\r\n\rid: 7\r\n \x85 \u2028 \u2029 \x1b]52;c;x\x07 \u202e'
    async with server.client() as client:
        await place.post(client, 1, evil=evil)
        async with sessions.begin() as session:
            await session.execute(
                text("UPDATE sandbox_events SET event_data = CAST(:raw AS json) WHERE seq = 1"),
                {"raw": '{\n\n"a":\r\n\r\n"\u2028\x85\u202e"\n}'},
            )
        await _end(sessions, place)
        answer = await client.get(f"/sandboxes/{place.sandbox_id}/events/stream")
    blocks = answer.content.split(b"\n\n")
    assert [block.split(b"\n")[0] for block in blocks[:-1]] == [b"id: 1", b"id: 2", b"id: 3"]
    events = [json.loads(block.split(b"\n")[1][6:]) for block in blocks[:-1]]
    assert events[0]["event_data"] == {"a": "\u2028\x85\u202e"}
    assert events[1]["event_data"]["evil"] == evil
    assert not any(mark in answer.content.decode() for mark in "\r\x1b\x07\x85\u2028\u2029\u202e")


@pytest.mark.parametrize(
    ("query", "header"), [({"since": "x"}, {}), ({"since": "-1"}, {}), ({}, {"Last-Event-ID": "x"})]
)
async def test_a_bad_beginning_is_refused(
    server: Server, sessions: Sessions, query: dict[str, str], header: dict[str, str]
) -> None:
    place = await a_place(sessions)
    async with server.client() as client:
        answer = await client.get(f"/sandboxes/{place.sandbox_id}/events/stream", params=query, headers=header)
    assert answer.status_code == 422


async def test_it_holds_no_connection_to_the_database_while_it_waits(server: Server, sessions: Sessions) -> None:
    place = await a_place(sessions)
    async with server.client() as client:
        streams = [client.stream("GET", f"/sandboxes/{place.sandbox_id}/events/stream") for _ in range(40)]
        opened = [await stream.__aenter__() for stream in streams]
        async with asyncio.timeout(30):
            firsts = [await anext(_blocks(response)) for response in opened]
            health = await client.get("/sandboxes/health")
        for stream in streams:
            await stream.__aexit__(None, None, None)
    assert [number for number, _ in firsts] == [1] * 40
    assert health.status_code == 200


async def test_who_loses_the_project_hears_no_more(server: Server, sessions: Sessions) -> None:
    ada, bob = await a_person(sessions), await a_person(sessions)
    place = await a_place(sessions, ada)
    async with server.client(ada.token) as client, asyncio.timeout(30):
        async with client.stream("GET", f"/sandboxes/{place.sandbox_id}/events/stream") as response:
            blocks = _blocks(response)
            await anext(blocks)
            async with sessions.begin() as session:
                await session.execute(text("UPDATE project_members SET user_id = :bob"), {"bob": bob.user.id})
            await place.post(client, 1)
            assert [number async for number, _ in blocks] == []
