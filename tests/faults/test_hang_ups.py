"""Senders that do not wait for the answer: the work goes to those who do."""

import asyncio
from pathlib import Path

import aiohttp
import psycopg

from omoi_os.db.base import Sessions, plain_url
from tests.api_process import ApiProcess, Reporter, batch_body, make_reporters

LEAVING = 40
EVENTS = [{"event_type": "agent.message", "event_data": {"t": "x" * 200}}] * 50


async def _send(api: ApiProcess, reporter: Reporter) -> asyncio.StreamWriter:
    """A post of which nobody reads the answer."""
    _, writer = await asyncio.open_connection("127.0.0.1", api.port)
    body = batch_body(EVENTS)
    head = [f"POST {reporter.path('/events/batch')} HTTP/1.1", "Host: localhost", f"Content-Length: {len(body)}"]
    head += [f"{name}: {value}" for name, value in reporter.headers.items()]
    writer.write("\r\n".join([*head, "", ""]).encode() + body)
    await writer.drain()
    return writer


async def _look_around(api: ApiProcess, http: aiohttp.ClientSession) -> None:
    """Until the API has seen what was sent to it before: it takes turns."""
    for _ in range(5):
        async with http.get(api.url + "/health") as answer:
            assert answer.status == 200


async def _post(api: ApiProcess, http: aiohttp.ClientSession, reporter: Reporter) -> int:
    url = api.url + reporter.path("/events/batch")
    async with http.post(url, data=batch_body(EVENTS), headers=reporter.headers) as answer:
        return answer.status


async def test_who_hangs_up_while_the_database_is_slow_keeps_nobody_waiting(
    short_tmp: Path, database_url: str, sessions: Sessions
) -> None:
    first, staying, *leaving = await make_reporters(sessions, LEAVING + 2, at_work=True)
    api = ApiProcess(short_tmp, database_url)
    await api.start()
    try:
        async with aiohttp.ClientSession(timeout=aiohttp.ClientTimeout(60)) as http:
            assert [await _post(api, http, each) for each in (first, staying, *leaving)] == [200] * (LEAVING + 2)
            async with await psycopg.AsyncConnection.connect(plain_url(database_url)) as connection:
                await connection.execute("LOCK TABLE sandbox_events")
                in_commit = asyncio.create_task(_post(api, http, first))
                await _look_around(api, http)
                gone = [await _send(api, each) for each in leaving]
                waiting = asyncio.create_task(_post(api, http, staying))
                await _look_around(api, http)
                for writer in gone:
                    writer.close()
                await _look_around(api, http)
                assert not waiting.done()
                await connection.rollback()
            assert (await in_commit, await waiting) == (200, 200)
            # Clients that retry are served, and only now are their events stored.
            assert await _post(api, http, leaving[0]) == 200
    finally:
        api.kill()

    with psycopg.connect(plain_url(database_url)) as connection:
        query = "SELECT sandbox_id, count(*) FROM sandbox_events WHERE event_type = 'agent.message' GROUP BY 1"
        stored: dict[str, int] = dict(connection.execute(query).fetchall())
    assert (stored[first.id], stored[staying.id], stored[leaving[0].id]) == (100, 100, 100)
    assert {stored[each.id] for each in leaving[1:]} == {50}
