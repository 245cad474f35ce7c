"""Many simulated workers report through several APIs that die; afterwards every event is there, once and in order."""

import asyncio
import json
import os
import random
import signal
from collections.abc import Sequence
from contextlib import suppress
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import aiohttp
import httpx
import psycopg
from websockets.asyncio.client import connect
from websockets.exceptions import WebSocketException

from omoi_os.db import embedded, postmaster
from omoi_os.db.base import plain_url
from tests.api_process import ApiProcess, Reporter, batch_body
from tests.bus.servers import RedisServer

FAILPOINTS = ("after_insert", "before_commit", "after_commit_before_ack")


@dataclass
class Worker:
    """One sandbox's worker: resends from the last acknowledged event until all are."""

    reporter: Reporter
    dice: random.Random
    #: How many events it has written so far.
    events: int = 0
    acked: int = 0
    answers: dict[int, int] = field(default_factory=dict)

    async def run(
        self, http: aiohttp.ClientSession, apis: Sequence[ApiProcess], *, at_least: int, over: asyncio.Event
    ) -> None:
        """Report so many events, and on until it is over."""
        while self.acked < self.events or self.events < at_least or not over.is_set():
            if self.events < at_least or not over.is_set():
                self.events = max(self.events, self.acked + self.dice.randint(1, 60))
            api = self.dice.choice(apis)
            before = self.acked
            with suppress(aiohttp.ClientError, TimeoutError, json.JSONDecodeError):
                await self._post(http, api.url)
            if self.acked == before:
                await asyncio.sleep(self.dice.uniform(0.02, 0.2))

    async def _post(self, http: aiohttp.ClientSession, url: str) -> None:
        chance = self.dice.random()
        if chance < 0.05:
            await self._send(http, url + self.reporter.path(), json.dumps(beat()).encode())
            return
        if chance < 0.3:
            number = min(self.acked + 1, self.events)
            answer = await self._send(http, url + self.reporter.path(), json.dumps(event(self, number)).encode())
            self.acked = number if answer else self.acked
            return
        # Sometimes again what was acknowledged, sometimes with a gap.
        first = max(1, self.acked + 1 - self.dice.choice((0, 0, 0, 5)))
        numbers = list(range(first, self.events + 1))
        if len(numbers) > 3 and self.dice.random() < 0.05:
            del numbers[-2]
        body = batch_body([event(self, number) for number in numbers])
        answer = await self._send(http, url + self.reporter.path("/events/batch"), body)
        if answer:
            assert answer["rejected"] == []
            assert answer["last_seq"] >= self.acked, "what was acknowledged is acknowledged no more"
            self.acked = answer["last_seq"]

    async def _send(self, http: aiohttp.ClientSession, url: str, body: bytes) -> dict[str, Any] | None:
        async with http.post(url, data=body, headers=self.reporter.headers) as answer:
            self.answers[answer.status] = self.answers.get(answer.status, 0) + 1
            assert answer.status in (200, 429, 503), (answer.status, await answer.text())
            return dict(await answer.json()) if answer.status == 200 else None


def event(worker: Worker, number: int) -> dict[str, Any]:
    return {
        "event_type": ("agent.message", "agent.tool_use", "agent.tool_completed")[number % 3],
        "event_data": {"n": number, "of": worker.reporter.id, "text": "x" * (number % 200)},
        "event_id": f"{worker.reporter.id}:{number}",
        "seq": number,
    }


def beat() -> dict[str, Any]:
    return {"event_type": "agent.heartbeat", "event_data": {"status": "working"}, "source": "worker"}


async def keep_killing(api: ApiProcess, dice: random.Random, kills: int) -> list[str]:
    """Kill an API so many times, at each failpoint in turn and then at any moment; at the end it runs."""
    deaths: list[str] = []
    while len(deaths) < kills:
        name = (*FAILPOINTS, "")[len(deaths) % (len(FAILPOINTS) + 1)]
        await api.start(FAIL=f"{name}:{dice.randint(1, 20)}" if name else "")
        if not name:
            await asyncio.sleep(dice.uniform(0.1, 0.6))
            api.kill()
        if await api.ended() == -signal.SIGKILL:
            deaths.append(name or "any moment")
        else:
            assert_database_was_away(api)
    while True:
        await api.start()
        if api.alive:
            return deaths
        assert_database_was_away(api)


def assert_database_was_away(api: ApiProcess) -> None:
    """Restart an API that exited because it could not reach the database at its start."""
    assert "the database does not answer" in api.log.read_text().splitlines()[-1], api.log.read_text()[-2000:]


async def keep_crashing(data_dir: Path, crashes: int, *, pause: float) -> int:
    """Kill the database server so many times."""
    for _ in range(crashes):
        await asyncio.sleep(pause)
        pid = postmaster.find(data_dir / "postgres" / "data")
        assert pid is not None
        os.kill(pid, signal.SIGKILL)
        await postmaster.process_end(pid)
        await embedded.start(data_dir)
    return crashes


async def keep_restarting(redis: RedisServer, restarts: int, *, pause: float) -> int:
    """Kill Redis so many times; it keeps nothing, and is away for a moment."""
    for _ in range(restarts):
        await asyncio.sleep(pause)
        redis.kill()
        await asyncio.sleep(min(1.0, pause / 4))
        await redis.start()
    return restarts


@dataclass
class Subscriber:
    """Hears every event of every sandbox, on whichever API lives, resuming where it was cut off."""

    apis: Sequence[ApiProcess]
    token: str
    #: The number received last from each sandbox.
    heard: dict[str, int] = field(default_factory=dict)
    faults: list[str] = field(default_factory=list)
    resumed: int = 0
    #: The position to resume from: the start, then the last item received.
    since: str = "1-0-0"
    changed: asyncio.Event = field(default_factory=asyncio.Event)

    async def run(self) -> None:
        """Until it is cancelled."""
        turn = 0
        while True:
            with suppress(WebSocketException, OSError, TimeoutError):
                await self._listen(self.apis[turn % len(self.apis)])
            turn += 1
            await asyncio.sleep(0.05)

    async def _listen(self, api: ApiProcess) -> None:
        query = {"types": "sandbox.event", "since": self.since}
        url = str(httpx.URL(api.url.replace("http", "ws") + "/api/v1/ws/events", params=query))
        headers = {"Authorization": f"Bearer {self.token}"}
        async with connect(url, additional_headers=headers, compression=None, max_size=None) as socket:
            self.resumed += 1
            async for line in socket:
                item = json.loads(line)
                if item["type"] == "sandbox.event":
                    self._take(item)

    def _take(self, item: dict[str, Any]) -> None:
        expected = self.heard.get(item["sandbox_id"], 0) + 1
        if item["seq"] != expected:
            self.faults.append(f"{item['sandbox_id']}: {item['seq']} instead of {expected}")
        self.heard[item["sandbox_id"]] = item["seq"]
        self.since = item["id"]
        self.changed.set()

    async def until(self, last: dict[str, int]) -> None:
        """Wait until everything up to these numbers is received."""
        while any(self.heard.get(sandbox_id, 0) < seq for sandbox_id, seq in last.items()):
            self.changed.clear()
            await self.changed.wait()


def last_numbers(database_url: str, workers: Sequence[Worker]) -> dict[str, int]:
    """The newest number of each worker's sandbox."""
    with psycopg.connect(plain_url(database_url)) as connection:
        ids = [worker.reporter.id for worker in workers]
        return dict(connection.execute("SELECT id, last_seq FROM sandboxes WHERE id = ANY (%s)", [ids]).fetchall())


def assert_sound(database_url: str, workers: Sequence[Worker]) -> int:
    """Assert that nothing is lost, doubled, out of order or delivered twice; return the number of events."""
    total = 0
    with psycopg.connect(plain_url(database_url)) as connection:
        for worker in workers:
            rows = connection.execute(
                "SELECT seq, posted_seq, event_data, event_type FROM sandbox_events WHERE sandbox_id = %s ORDER BY seq",
                [worker.reporter.id],
            ).fetchall()
            total += len(rows)
            assert [row[0] for row in rows] == list(range(1, len(rows) + 1))
            numbered = [row for row in rows if row[1] is not None]
            assert [row[1] for row in numbered] == list(range(1, worker.events + 1))
            assert all(row[2] == event(worker, row[1])["event_data"] for row in numbered)
            _assert_row(connection, worker, rows)
            _assert_told(connection, worker, len(rows))
    return total


def _assert_row(connection: "psycopg.Connection[Any]", worker: Worker, rows: list[tuple[Any, ...]]) -> None:
    query = "SELECT last_seq, acked_seq, event_counts, status FROM sandboxes WHERE id = %s"
    found = connection.execute(query, [worker.reporter.id]).fetchone()
    assert found is not None
    counts: dict[str, int] = {}
    for row in rows:
        counts[row[3]] = counts.get(row[3], 0) + 1
    assert found == (len(rows), worker.events, counts, "running")


def _assert_told(connection: "psycopg.Connection[Any]", worker: Worker, last: int) -> None:
    """The runs of the outbox follow each other without a gap, in the order in which they can be read."""
    runs = connection.execute(
        "SELECT first_seq, last_seq FROM outbox WHERE sandbox_id = %s AND change = 'sandbox.event' ORDER BY xid, id",
        [worker.reporter.id],
    ).fetchall()
    told = [seq for first, until in runs for seq in range(first, until + 1)]
    assert told == list(range(1, last + 1))
