"""A database that does not get on: events wait within bounds, the rest is asked to come back, and nothing is lost."""

import asyncio
from pathlib import Path

import aiohttp
import psycopg

from omoi_os.db.base import Sessions, plain_url
from tests.api_process import ApiProcess, Reporter, batch_body, make_reporters

SANDBOXES, POSTS, EVENTS = 20, 20, 50
LARGE_POSTS, LARGE_EVENTS = 100, 30
LOCK = "LOCK TABLE sandbox_events"


class Crowd:
    """Sandboxes that send everything at once, and again what was refused."""

    def __init__(self, http: aiohttp.ClientSession, api: ApiProcess, reporters: list[Reporter]) -> None:
        self._http, self._api, self._reporters = http, api, reporters
        self.refusals: list[str] = []
        self.refused = asyncio.Event()

    async def send(self, reporter: Reporter, first: int) -> None:
        """Until it is stored."""
        numbers = range(first, first + EVENTS)
        names = [{"event_type": "agent.message", "event_id": f"e{n}", "event_data": {"t": "x" * 200}} for n in numbers]
        body = batch_body(names)
        while True:
            url = self._api.url + reporter.path("/events/batch")
            async with self._http.post(url, data=body, headers=reporter.headers) as answer:
                if answer.status == 200:
                    return
                assert answer.status == 503, await answer.text()
                self.refusals.append(answer.headers["Retry-After"])
            if len(self.refusals) >= 100:
                self.refused.set()
            await asyncio.sleep(int(self.refusals[-1]))

    async def send_all(self, *, posts: int, start: int) -> None:
        sending = [self.send(each, start + n * EVENTS) for n in range(posts) for each in self._reporters]
        await asyncio.gather(*sending)


async def test_a_locked_table_costs_a_503_and_no_memory_and_nothing_is_lost(
    short_tmp: Path, database_url: str, sessions: Sessions
) -> None:
    reporters = await make_reporters(sessions, SANDBOXES, at_work=True)
    api = ApiProcess(short_tmp, database_url)
    await api.start()
    connector = aiohttp.TCPConnector(limit=0)
    try:
        async with aiohttp.ClientSession(connector=connector, timeout=aiohttp.ClientTimeout(120)) as http:
            crowd = Crowd(http, api, reporters)
            await crowd.send_all(posts=2, start=0)
            before = api.rss_kib
            async with await psycopg.AsyncConnection.connect(plain_url(database_url)) as connection:
                await connection.execute(LOCK)
                sending = asyncio.create_task(crowd.send_all(posts=POSTS, start=2 * EVENTS))
                await asyncio.wait_for(crowd.refused.wait(), 60)
                locked = api.rss_kib
                async with http.get(api.url + "/health") as health:
                    assert health.status == 200
                assert not sending.done()
                await connection.rollback()
            await sending
            peak = max(locked, api.rss_kib)
    finally:
        api.kill()

    assert {int(seconds) >= 1 for seconds in crowd.refusals} == {True}
    assert peak <= 1.5 * before
    assert _stored(database_url) == [(POSTS + 2) * EVENTS] * SANDBOXES


async def test_large_bodies_at_once_take_no_more_memory_than_small_ones(
    short_tmp: Path, database_url: str, sessions: Sessions
) -> None:
    reporters = await make_reporters(sessions, LARGE_POSTS, at_work=True)
    api = ApiProcess(short_tmp, database_url)
    await api.start()
    names = [{"event_type": "agent.message", "event_data": {"t": "x" * 30_000}}] * LARGE_EVENTS
    body = batch_body(names)
    statuses: list[int] = []
    refused = asyncio.Event()

    async def send(http: aiohttp.ClientSession, reporter: Reporter) -> None:
        while True:
            url = api.url + reporter.path("/events/batch")
            async with http.post(url, data=body, headers=reporter.headers) as answer:
                statuses.append(answer.status)
                if answer.status == 200:
                    return
                assert answer.status == 503, await answer.text()
            if len(statuses) >= LARGE_POSTS:
                refused.set()
            await asyncio.sleep(1)

    try:
        connector = aiohttp.TCPConnector(limit=0)
        async with aiohttp.ClientSession(connector=connector, timeout=aiohttp.ClientTimeout(240)) as http:
            await asyncio.gather(*(send(http, each) for each in reporters[:4]))
            before = api.rss_kib
            statuses.clear()
            async with await psycopg.AsyncConnection.connect(plain_url(database_url)) as connection:
                await connection.execute(LOCK)
                sending = asyncio.create_task(asyncio.wait({asyncio.ensure_future(send(http, r)) for r in reporters}))
                await asyncio.wait_for(refused.wait(), 120)
                assert 200 not in statuses
                await connection.rollback()
            done, _ = await sending
            assert [task.exception() for task in done] == [None] * LARGE_POSTS
            peak = api.peak_rss_kib
    finally:
        api.kill()

    assert len(body) > 890_000
    assert peak <= 1.5 * before
    assert sorted(_stored(database_url)) == [LARGE_EVENTS] * (LARGE_POSTS - 4) + [2 * LARGE_EVENTS] * 4


def _stored(database_url: str) -> list[int]:
    with psycopg.connect(plain_url(database_url)) as connection:
        query = "SELECT count(*) FROM sandbox_events WHERE event_type = 'agent.message' GROUP BY sandbox_id"
        return [row[0] for row in connection.execute(query)]
