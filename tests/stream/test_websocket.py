"""The WebSocket over real servers: which changes are sent, to which clients, from which position."""

import asyncio
import json
from typing import Any

import pytest
from sqlalchemy import text as _text
from websockets.exceptions import ConnectionClosed, InvalidStatus

from omoi_os.db.base import Sessions
from tests.stream.servers import ADMIN, Server, a_person, a_place, hear, hear_until, numbers, serving


async def test_what_is_posted_is_heard_as_the_list_shows_it(server: Server, sessions: Sessions) -> None:
    place = await a_place(sessions)
    async with server.listen(types="sandbox.event") as socket, server.client() as client:
        await place.post(client, 3, text="line\nbreak \u2028 \u202e")
        heard = await hear(socket, 3)
        listed = (await client.get(f"/sandboxes/{place.sandbox_id}/events?order=asc")).json()["items"]

    assert [item["data"] for item in heard] == listed[-3:]
    assert [item["seq"] for item in heard] == [item["seq"] for item in listed[-3:]]
    assert {frozenset(item) for item in heard} == {
        frozenset({"id", "type", "seq", "timestamp", "project_id", "sandbox_id", "data"})
    }
    assert heard[0]["project_id"] == place.project_id


@pytest.mark.parametrize("types", ["sandbox.event,task.status", ["sandbox.event", "task.status"]])
async def test_types_are_given_in_one_list_or_one_by_one(
    server: Server, sessions: Sessions, types: str | list[str]
) -> None:
    place = await a_place(sessions)
    async with server.listen(query={"types": types}) as socket, server.client() as client:
        await place.post(client, 1)
        heard = await hear(socket, 2)

    assert {item["type"] for item in heard} == {"sandbox.event", "task.status"}


async def test_states_are_told_with_the_events_that_cause_them(server: Server, sessions: Sessions) -> None:
    place = await a_place(sessions)
    async with server.listen() as socket, server.client() as client:
        await place.post(client, 1)
        heard = await hear(socket, 3)

    assert {item["type"] for item in heard} == {"sandbox.event", "sandbox.status", "task.status"}
    assert [item["data"]["status"] for item in heard if item["type"] == "task.status"] == ["running"]


async def test_a_stream_that_begins_where_one_asked_who_one_is_misses_nothing(
    server: Server, sessions: Sessions
) -> None:
    place = await a_place(sessions)
    async with server.client() as client:
        await place.post(client, 3)
        position = (await client.get("/auth/me")).json()["position"]
        before = (await client.get(f"/sandboxes/{place.sandbox_id}/events?order=desc&limit=1")).json()["items"][0][
            "seq"
        ]
        await place.post(client, 2)
        async with server.listen(since=position, types="sandbox.event") as socket:
            heard = await hear(socket, 2)

    assert [item["seq"] for item in heard] == [before + 1, before + 2]


async def test_since_resumes_behind_any_item_with_no_gap_and_nothing_twice(server: Server, sessions: Sessions) -> None:
    place = await a_place(sessions)
    async with server.listen() as socket, server.client() as client:
        for _ in range(5):
            await place.post(client, 7)
        heard = await hear_until(socket, lambda item: numbers([item], place.sandbox_id)[-1:] == [36])
    for at in range(0, len(heard), 3):
        async with server.listen(since=heard[at]["id"]) as socket:
            rest = len(heard) - at - 1
            assert await hear(socket, rest) == heard[at + 1 :]


async def test_a_subscription_in_a_line_of_its_own_begins_and_ends(server: Server, sessions: Sessions) -> None:
    here, there = await a_place(sessions), await a_place(sessions)
    async with server.listen(types="none") as socket, server.client() as client:
        await socket.send(json.dumps({"op": "subscribe", "id": "a", "sandbox_id": here.sandbox_id}))
        assert [line["type"] for line in await hear(socket, 2)] == ["subscribed", "live"]
        await there.post(client, 1)
        await here.post(client, 1)
        heard = await hear_until(socket, lambda item: item["type"] == "sandbox.event")
        await socket.send(json.dumps({"op": "unsubscribe", "id": "a"}))
        await hear_until(socket, lambda item: item["type"] == "unsubscribed")
        await here.post(client, 1)
        await socket.send(json.dumps({"op": "subscribe", "id": "b", "sandbox_id": there.sandbox_id}))
        after = await hear(socket, 2)

    assert {item["sandbox_id"] for item in heard} == {here.sandbox_id}
    assert [line["type"] for line in after] == ["subscribed", "live"]


async def test_a_client_that_asks_whether_anyone_is_there_is_answered(server: Server) -> None:
    async with server.listen(types="none") as socket:
        await socket.send(json.dumps({"op": "ping"}))
        assert await hear(socket, 1) == [{"type": "pong"}]


async def test_an_item_that_two_subscriptions_want_comes_once(server: Server, sessions: Sessions) -> None:
    place = await a_place(sessions)
    async with server.client() as client:
        async with server.listen() as first:
            await place.post(client, 3)
            begin = (await hear(first, 1))[0]["id"]
        async with server.listen(since=begin, types="sandbox.event") as socket:
            await hear_until(socket, lambda item: item["seq"] == 4)
            await socket.send(
                json.dumps({"op": "subscribe", "id": "b", "project_id": place.project_id, "since": begin})
            )
            lines = await hear_until(socket, lambda item: item["type"] == "live")
            await place.post(client, 2)
            heard = await hear(socket, 2)

    assert numbers(lines, place.sandbox_id) == []
    assert {line["type"] for line in lines} >= {"task.status"}
    assert numbers(heard, place.sandbox_id) == [5, 6]


@pytest.mark.parametrize(
    ("line", "said"),
    [
        ("{", "not valid JSON"),
        ("[]", "op: must be"),
        ('{"op": "dance"}', "op: must be"),
        ('{"op": "subscribe"}', "id: is required"),
        ('{"op": "subscribe", "id": "a", "types": ["no.such"]}', "types: must be one of sandbox.event, "),
        ('{"op": "subscribe", "id": "a", "types": ["spec.phase"]}', "types: spec.phase is not available yet"),
        ('{"op": "subscribe", "id": "a", "types": ["monitoring.*"]}', "types: monitoring.* is not available yet"),
        ('{"op": "subscribe", "id": "a", "since": "yesterday"}', "since: must be an id"),
        ('{"op": "subscribe", "id": "a", "token": "omoi_x"}', "token: is not a known field"),
        ('{"op": "subscribe", "id": "a", "sandbox_id": "omoios-none"}', "there is no sandbox"),
    ],
)
async def test_a_bad_line_is_answered_by_one_that_says_why(server: Server, line: str, said: str) -> None:
    async with server.listen(types="none") as socket:
        await socket.send(line)
        answer = (await hear(socket, 1))[0]
        await socket.send('{"op": "subscribe", "id": "fine"}')
        assert (await hear(socket, 1))[0]["type"] == "subscribed"

    assert answer["type"] == "error"
    assert said in answer["detail"]


async def test_lines_and_subscriptions_are_bounded(server: Server) -> None:
    async with server.listen(types="none") as socket:
        for number in range(33):
            await socket.send(json.dumps({"op": "subscribe", "id": str(number)}))
        refused = await hear_until(socket, lambda line: line["type"] == "error")
        assert "has 32 subscriptions" in refused[-1]["detail"]
        await socket.send("x" * 20_000)
        with pytest.raises(ConnectionClosed) as closed:
            await hear_until(socket, lambda _: False)
    assert closed.value.rcvd is not None
    assert closed.value.rcvd.code == 1009


@pytest.mark.parametrize(
    ("query", "status"),
    [
        ({"since": "garbage"}, 422),
        ({"since": "1-2-" + "9" * 30}, 422),
        ({"types": "no.such"}, 422),
        ({"project_id": "x"}, 422),
        ({"colour": "red"}, 422),
        ({"sandbox_id": "omoios-none"}, 404),
        ({"project_id": "01890a5d-ac96-774b-bcce-b302099a8057"}, 404),
        ({"token": ADMIN}, 401),
        ({"x": ADMIN}, 401),
    ],
)
async def test_a_bad_address_is_refused_with_a_problem(server: Server, query: dict[str, str], status: int) -> None:
    with pytest.raises(InvalidStatus) as refused:
        await server.listen(query=query)
    problem: dict[str, Any] = json.loads(refused.value.response.body or b"{}")
    assert (refused.value.response.status_code, problem["status"]) == (status, status)


async def test_a_refusal_is_no_error_of_the_servers(server: Server, caplog: pytest.LogCaptureFixture) -> None:
    with pytest.raises(InvalidStatus):
        await server.listen("omoi_nobodys")
    async with server.client() as client:
        assert (await client.get("/auth/me")).status_code == 200

    assert [record.getMessage() for record in caplog.records if record.name.startswith("uvicorn")] == []


async def test_a_revoked_key_hears_no_more(server: Server, sessions: Sessions) -> None:
    person = await a_person(sessions)
    async with server.listen(person.token) as socket, server.listen() as other:
        async with sessions.begin() as session:
            await session.execute(
                _text("UPDATE api_keys SET revoked_at = now() WHERE user_id = :id"), {"id": person.user.id}
            )
        async with asyncio.timeout(20):
            with pytest.raises(ConnectionClosed) as closed:
                await socket.recv()
        await other.ping()
    assert closed.value.rcvd is not None
    assert closed.value.rcvd.code == 1008


@pytest.mark.parametrize("way", ["its key is revoked", "its user is deactivated"])
async def test_a_stream_is_closed_by_another_server_s_revocation(
    server: Server, sessions: Sessions, *, way: str, database_url: str
) -> None:
    person = await a_person(sessions)
    async with serving(database_url) as other, server.listen(person.token) as socket, other.client() as admin:
        path = f"/users/{person.user.id}"
        if way == "its key is revoked":
            (key,) = (await admin.get(f"{path}/api-keys")).json()["items"]
            path += f"/api-keys/{key['id']}"
        assert (await admin.delete(path)).status_code == 204
        async with asyncio.timeout(30):
            with pytest.raises(ConnectionClosed) as closed:
                await socket.recv()
    assert closed.value.rcvd is not None
    assert closed.value.rcvd.code == 1008
