"""The stream while processes die, clients stall, and Redis or the database goes away."""

import asyncio
import json
import socket
from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import asynccontextmanager
from pathlib import Path

import httpx
import psycopg
import pytest
from websockets.asyncio.client import ClientConnection
from websockets.exceptions import ConnectionClosed, WebSocketException

from omoi_os.db.base import Sessions, plain_url
from tests.bus.servers import redis_server
from tests.stream.servers import (
    ADMIN,
    Json,
    Place,
    Server,
    a_place,
    hear_until,
    numbers,
    serving,
    serving_here,
)

#: A thousand clients are one program, which shares the machine with their server and other tests.
_MANY_SECONDS = 200.0


class Ear:
    """Hears everything, whatever happens: when a connection ends it resumes behind the last item it has."""

    def __init__(self, *servers: Server) -> None:
        self._servers = servers
        self.heard: list[Json] = []
        self.resumed = 0
        self._changed = asyncio.Event()

    @asynccontextmanager
    async def hearing(self) -> AsyncIterator["Ear"]:
        first = await self._servers[0].listen(types="sandbox.event")
        task = asyncio.create_task(self._hear(first))
        try:
            yield self
        finally:
            task.cancel()
            await asyncio.gather(task, return_exceptions=True)

    async def _hear(self, opened: ClientConnection) -> None:
        turn = 0
        while True:
            try:
                async with opened:
                    async for line in opened:
                        item = json.loads(line)
                        if item["type"] != "resync":
                            self.heard.append(item)
                            self._changed.set()
            except (WebSocketException, OSError):
                pass
            turn += 1
            since = {"since": self.heard[-1]["id"]} if self.heard else {}
            try:
                opened = await self._servers[turn % len(self._servers)].listen(types="sandbox.event", query=since)
                self.resumed += 1
            except (WebSocketException, OSError):
                await asyncio.sleep(0.05)

    async def until_heard(self, number: int) -> None:
        async with asyncio.timeout(60):
            while len(self.heard) < number:
                self._changed.clear()
                await self._changed.wait()

    async def until(self, places: list[Place]) -> None:
        async with asyncio.timeout(60):
            while any(place.posted + 1 not in numbers(self.heard[-2000:], place.sandbox_id) for place in places):
                self._changed.clear()
                await self._changed.wait()


def _whole(ear: Ear, places: list[Place]) -> None:
    """No gap, nothing twice, in order, for every sandbox."""
    for place in places:
        assert numbers(ear.heard, place.sandbox_id) == list(range(2, place.posted + 2))
    ids = [item["id"] for item in ear.heard]
    assert len(ids) == len(set(ids))


async def _post_to_any(place: Place, clients: list[httpx.AsyncClient], number: int) -> None:
    """As a worker does: send it again, elsewhere, until it is stored."""
    for attempt in range(200):
        try:
            return await place.post(clients[attempt % len(clients)], number)
        except (httpx.TransportError, AssertionError):
            await asyncio.sleep(0.05)
    raise AssertionError("no server took the events")


async def _while_posting(
    places: list[Place], servers: list[Server], act: Callable[[], Awaitable[None]], *, batches: int = 20
) -> None:
    clients = [server.client() for server in servers]

    async def work(place: Place) -> None:
        for _ in range(batches):
            await _post_to_any(place, clients, 5)

    working = asyncio.gather(*(work(place) for place in places))
    await act()
    await working
    await asyncio.gather(*(client.aclose() for client in clients))


async def test_a_client_of_a_killed_server_resumes_on_another_with_no_gap_and_nothing_twice(
    database_url: str, sessions: Sessions
) -> None:
    places = [await a_place(sessions) for _ in range(4)]
    async with serving(database_url) as one, serving(database_url) as two:
        async with Ear(one, two).hearing() as ear, Ear(two).hearing() as steady:

            async def kill() -> None:
                await ear.until_heard(60)
                one.kill()

            await _while_posting(places, [one, two], kill)
            await ear.until(places)
            await steady.until(places)
    assert ear.resumed == 1
    _whole(ear, places)
    _whole(steady, places)


async def test_redis_may_be_absent_restart_and_vanish_and_nobody_misses_anything(
    database_url: str, sessions: Sessions, short_tmp: Path
) -> None:
    places = [await a_place(sessions) for _ in range(2)]
    async with redis_server(short_tmp) as redis:
        redis.kill()
        async with serving(database_url, REDIS_URL=redis.url) as one, serving(database_url, REDIS_URL=redis.url) as two:
            async with Ear(one).hearing() as ear, Ear(two).hearing() as other:

                async def upset() -> None:
                    for _ in range(2):
                        await redis.start()
                        await asyncio.sleep(0.3)
                        redis.kill()

                await _while_posting(places, [one, two], upset)
                await ear.until(places)
                await other.until(places)
    assert (ear.resumed, other.resumed) == (0, 0)
    _whole(ear, places)
    _whole(other, places)


async def test_lost_connections_to_the_database_are_made_again(database_url: str, sessions: Sessions) -> None:
    places = [await a_place(sessions) for _ in range(2)]
    async with serving(database_url) as server, Ear(server).hearing() as ear:

        async def cut() -> None:
            async with await psycopg.AsyncConnection.connect(plain_url(database_url), autocommit=True) as connection:
                for _ in range(3):
                    await connection.execute(
                        "SELECT pg_terminate_backend(pid) FROM pg_stat_activity"
                        " WHERE datname = current_database() AND pid <> pg_backend_pid()"
                    )
                    await asyncio.sleep(0.3)

        await _while_posting(places, [server], cut)
        await ear.until(places)
    assert ear.resumed == 0
    _whole(ear, places)


async def _stalled(server: Server) -> socket.socket:
    """A client that shakes hands and then reads nothing."""
    client = socket.socket()
    client.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, 4096)
    client.connect(("127.0.0.1", server.port))
    client.setblocking(False)
    request = (
        f"GET /api/v1/ws/events HTTP/1.1\r\nHost: 127.0.0.1:{server.port}\r\nConnection: Upgrade\r\n"
        "Upgrade: websocket\r\nSec-WebSocket-Version: 13\r\nSec-WebSocket-Key: dGhlIHNhbXBsZSBub25jZQ==\r\n"
        f"Authorization: Bearer {ADMIN}\r\n\r\n"
    )
    loop = asyncio.get_running_loop()
    await loop.sock_sendall(client, request.encode())
    answer = b""
    async with asyncio.timeout(20):
        while b"\r\n\r\n" not in answer:
            answer += await loop.sock_recv(client, 1)
    assert answer.startswith(b"HTTP/1.1 101")
    return client


async def test_a_stalled_client_is_dropped_while_others_go_on(database_url: str, sessions: Sessions) -> None:
    place = await a_place(sessions)
    async with serving_here(database_url) as server, Ear(server).hearing() as ear, server.client() as client:
        stalled = await _stalled(server)
        for _ in range(40):
            await place.post(client, 10, text="x" * 4000)
        await ear.until([place])
        taken = await _rest(stalled)
    assert ear.resumed == 0
    _whole(ear, [place])
    assert len(taken) < 40 * 10 * 4000


async def _rest(client: socket.socket) -> bytes:
    """All that is still there to read, until the server has closed the connection."""
    loop = asyncio.get_running_loop()
    taken = b""
    async with asyncio.timeout(30):
        try:
            while chunk := await loop.sock_recv(client, 65536):
                taken += chunk
        except ConnectionResetError:
            pass
    client.close()
    return taken


async def test_a_slow_client_is_told_from_where_it_can_resume(database_url: str, sessions: Sessions) -> None:
    place = await a_place(sessions)
    async with serving_here(database_url) as server, server.client() as client:
        async with server.listen(types="sandbox.event") as slow:
            for _ in range(30):
                await place.post(client, 10, text="x" * 10_000)
            *items, last = await hear_until(slow, lambda item: item["type"] == "resync")
            with pytest.raises(ConnectionClosed) as closed:
                await slow.recv()
        assert closed.value.rcvd is not None
        assert closed.value.rcvd.code == 1013
        assert last["id"] == items[-1]["id"]
        async with server.listen(types="sandbox.event", since=last["id"]) as again:
            rest = await hear_until(again, lambda item: item["seq"] == place.posted + 1)
    assert numbers(items + rest, place.sandbox_id) == list(range(2, 302))


async def test_a_thousand_who_come_back_at_once_are_all_served(database_url: str, sessions: Sessions) -> None:
    place = await a_place(sessions)
    async with serving(database_url, OMOI_STREAM_CONNECTIONS="1001") as server, server.client() as client:
        async with server.listen(types="sandbox.event") as first:
            await place.post(client, 50)
            begin = (await hear_until(first, lambda item: item["seq"] == 11))[-1]["id"]

        async def come_back() -> list[int]:
            async with server.listen(types="sandbox.event", since=begin) as opened:
                heard = await hear_until(opened, lambda item: item["seq"] == 51, patience=_MANY_SECONDS)
            return numbers(heard, place.sandbox_id)

        async with asyncio.timeout(_MANY_SECONDS):
            heard = await asyncio.gather(*(come_back() for _ in range(1000)))
        assert (await client.get("/sandboxes/health")).status_code == 200
    assert all(each == list(range(12, 52)) for each in heard)
