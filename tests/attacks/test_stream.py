"""Attacks on the stream: other people's events, tokens in addresses, pages of other sites."""

import asyncio
import json
from collections.abc import AsyncIterator

import pytest
from sqlalchemy import text
from websockets.exceptions import InvalidStatus

from omoi_os.db.base import Sessions
from tests.stream.servers import (
    ADMIN,
    Json,
    Person,
    Place,
    Server,
    a_person,
    a_place,
    hear_until,
    numbers,
    serving_here,
)


@pytest.fixture
async def server(database_url: str) -> AsyncIterator[Server]:
    async with serving_here(database_url) as made:
        yield made


async def _refusal(
    server: Server,
    token: str = ADMIN,
    *,
    headers: dict[str, str] | None = None,
    query: dict[str, str] | None = None,
) -> int:
    with pytest.raises(InvalidStatus) as refused:
        await server.listen(token, headers=headers, query=query)
    return refused.value.response.status_code


async def _post_many(server: Server, place: Place, *, batches: int, each: int) -> None:
    async with server.client() as client:
        for _ in range(batches):
            await place.post(client, each)


async def test_nobody_hears_what_is_anothers_whatever_they_ask_for(server: Server, sessions: Sessions) -> None:
    """Attack 7: no filter, every wildcard, resumed from the start; the administrator receives it, so it was sent."""
    ada, bob = await a_person(sessions), await a_person(sessions)
    mine, foreign = await a_place(sessions, ada), await a_place(sessions, bob)
    asked: list[dict[str, str]] = [{}, {"types": "*"}, {"types": "sandbox.*,task.*"}, {"since": "1-0-0"}]
    sockets = [await server.listen(ada.token, query=query) for query in asked]
    everything = await server.listen(types="sandbox.event")

    def is_last(item: Json) -> bool:
        return item["type"] == "sandbox.event" and (item["sandbox_id"], item["seq"]) == (mine.sandbox_id, 201)

    hearing = asyncio.gather(*(hear_until(socket, is_last) for socket in [everything, *sockets]))
    for _ in range(10):
        await _post_many(server, foreign, batches=2, each=200)
        await _post_many(server, mine, batches=1, each=20)
    control, *heard = await hearing
    for socket in [*sockets, everything]:
        await socket.close()

    assert {item["project_id"] for items in heard for item in items} == {mine.project_id}
    assert all(numbers(items, mine.sandbox_id)[-200:] == list(range(2, 202)) for items in heard)
    assert len(numbers(control, foreign.sandbox_id)) == 4000


async def test_what_is_anothers_is_not_there(server: Server, sessions: Sessions) -> None:
    ada, bob = await a_person(sessions), await a_person(sessions)
    foreign = await a_place(sessions, bob)
    assert await _refusal(server, ada.token, query={"sandbox_id": foreign.sandbox_id}) == 404
    assert await _refusal(server, ada.token, query={"project_id": foreign.project_id}) == 404
    async with server.client(ada.token) as client:
        assert (await client.get(f"/sandboxes/{foreign.sandbox_id}/events/stream")).status_code == 404
    async with server.listen(ada.token) as socket:
        await socket.send(json.dumps({"op": "subscribe", "id": "a", "sandbox_id": foreign.sandbox_id}))
        async with asyncio.timeout(20):
            assert json.loads(await socket.recv())["code"] == "not_found"


async def test_what_is_gained_is_heard_and_what_is_lost_is_not(server: Server, sessions: Sessions) -> None:
    ada, bob = await a_person(sessions), await a_person(sessions)
    lost = await a_place(sessions, ada)
    async with server.listen(ada.token) as socket, server.client() as client:
        gained = await a_place(sessions, ada)
        await lost.post(client, 1)
        await hear_until(socket, lambda item: item["sandbox_id"] == lost.sandbox_id and item["type"] == "sandbox.event")
        await _give(sessions, lost, bob)
        await lost.post(client, 100)
        await gained.post(client, 1)
        heard = await hear_until(
            socket,
            lambda item: item["sandbox_id"] == gained.sandbox_id and item["data"].get("event_type") == "agent.message",
        )
    assert numbers(heard, lost.sandbox_id) == []


async def _give(sessions: Sessions, place: Place, person: Person) -> None:
    async with sessions.begin() as session:
        await session.execute(
            text("UPDATE project_members SET user_id = :to WHERE project_id = :id"),
            {"to": person.user.id, "id": place.project_id},
        )


async def test_one_person_cannot_take_every_connection(database_url: str, sessions: Sessions) -> None:
    ada, bob = await a_person(sessions), await a_person(sessions)
    async with serving_here(database_url, stream_connections=3) as server:
        sockets = [await server.listen(ada.token) for _ in range(3)]
        with pytest.raises(InvalidStatus) as refused:
            await server.listen(ada.token)
        assert refused.value.response.status_code == 429
        assert refused.value.response.headers["Retry-After"] == "1"
        assert json.loads(refused.value.response.body or b"")["code"] == "too_many"
        async with server.listen(bob.token):
            pass
        # Who goes makes room.
        await sockets.pop().close()
        async with asyncio.timeout(20):
            while True:
                try:
                    sockets.append(await server.listen(ada.token))
                    break
                except InvalidStatus:
                    await asyncio.sleep(0.02)
        for socket in sockets:
            await socket.close()


async def test_a_sandboxs_token_opens_no_stream(server: Server, sessions: Sessions) -> None:
    place = await a_place(sessions)
    assert await _refusal(server, place.token) == 403
    async with server.client(place.token) as client:
        assert (await client.get(f"/sandboxes/{place.sandbox_id}/events/stream")).status_code == 403


async def test_no_token_or_a_wrong_one_opens_no_stream(server: Server) -> None:
    assert await _refusal(server, "omoi_wrong") == 401
    assert await _refusal(server, headers={"Authorization": ""}) == 401


@pytest.mark.parametrize("name", ["token", "access_token", "api_key", "anything"])
async def test_a_token_in_the_address_is_refused_even_beside_a_good_header(server: Server, name: str) -> None:
    """Attack 8."""
    assert await _refusal(server, query={name: ADMIN}) == 401


@pytest.mark.parametrize(
    "origin", ["https://evil.example", "null", "http://127.0.0.1.evil.example", "http://127.0.0.1:1"]
)
async def test_a_page_of_another_site_is_refused(server: Server, sessions: Sessions, origin: str) -> None:
    """Attack 43."""
    place = await a_place(sessions)
    assert await _refusal(server, headers={"Origin": origin}) == 403
    async with server.client() as client:
        path = f"/sandboxes/{place.sandbox_id}/events/stream"
        assert (await client.get(path, headers={"Origin": origin})).status_code == 403
    async with server.listen(headers={"Origin": f"http://127.0.0.1:{server.port}"}):
        pass
