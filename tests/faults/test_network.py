"""The network between a sandbox and the API fails in every way: nothing of the worker's reports is lost or doubled."""

import asyncio
import contextlib
import time
from collections.abc import AsyncIterator
from dataclasses import dataclass
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import psycopg
import pytest

from omoi_os.db.base import Sessions, plain_url
from omoi_os.protocol.events import Event
from omoi_os.worker.reporter import delivery
from omoi_os.worker.reporter.api import Api
from omoi_os.worker.reporter.blobs import Blobs
from omoi_os.worker.reporter.spool import Spool
from tests.api_process import ApiProcess, make_reporters
from tests.e2e.platform import wait_for
from tests.faults.proxy import Fault, Proxy

#: Instead of a minute, so that what is lost is soon sent again.
TIMEOUT_SECONDS = 1.5
#: What a busy machine may take to store what it has.
SLACK_SECONDS = 5.0


@dataclass
class Line:
    """A worker's reporter, the API and the network between them."""

    spool: Spool
    proxy: Proxy
    database_url: str
    sandbox_id: str
    said: int = 0

    def say(self, count: int) -> None:
        """Report so many events."""
        for _ in range(count):
            self.said += 1
            self.spool.append(Event("agent.message", {"n": self.said}, event_id=f"e-{self.said}"))

    async def drained(self) -> None:
        await asyncio.wait_for(self.spool.wait_until_empty(), 60)

    async def beaten(self) -> None:
        """Return when another heartbeat is in the table."""
        before = len(self.stored("agent.heartbeat"))
        await asyncio.to_thread(wait_for, "a heartbeat", lambda: len(self.stored("agent.heartbeat")) > before)

    def stored(self, event_type: str) -> list[tuple[int, int | None, dict[str, Any], datetime]]:
        """What the table has of one type, in order."""
        query = (
            "SELECT seq, posted_seq, event_data, created_at FROM sandbox_events"
            " WHERE sandbox_id = %s AND event_type = %s ORDER BY seq"
        )
        with psycopg.connect(plain_url(self.database_url)) as connection:
            return connection.execute(query, [self.sandbox_id, event_type]).fetchall()


@pytest.fixture
def sessions(shared_sessions: Sessions) -> Sessions:
    return shared_sessions


@pytest.fixture
async def line(
    shared_api: ApiProcess, shared_database_url: str, sessions: Sessions, short_tmp: Path
) -> AsyncIterator[Line]:
    (reporter,) = await make_reporters(sessions, 1, at_work=True)
    proxy = Proxy(shared_api.port)
    api = Api(await proxy.start() + reporter.path(), reporter.token, timeout=TIMEOUT_SECONDS)
    beats = 0

    async def status() -> dict[str, Any]:
        nonlocal beats
        beats += 1
        return {"status": "working", "turn": beats, "measured_at": datetime.now(UTC).isoformat()}

    with contextlib.closing(Spool(short_tmp / "spool")) as spool:
        tasks = [
            asyncio.create_task(delivery.deliver(spool, api, blobs=Blobs(short_tmp / "blobs"))),
            asyncio.create_task(delivery.beat(api, status, every=0.3)),
        ]
        yield Line(spool, proxy, shared_database_url, reporter.id)
        for task in tasks:
            task.cancel()
        await asyncio.gather(*tasks, return_exceptions=True)
    await proxy.stop()


@pytest.mark.parametrize("fault", [fault for fault in Fault if fault != Fault.NONE])
async def test_a_network_that_fails_loses_and_doubles_nothing(line: Line, fault: Fault) -> None:
    line.say(50)
    await line.drained()
    await line.beaten()
    cut = asyncio.create_task(line.proxy.fail(fault, times=4))
    while not cut.done():
        line.say(20)
        await asyncio.wait({cut}, timeout=0.2)
    line.say(50)
    await line.drained()
    await line.beaten()

    told = line.stored("agent.message")
    assert [row[1] for row in told] == list(range(1, line.said + 1))
    assert [row[2]["n"] for row in told] == list(range(1, line.said + 1))
    assert [row[0] for row in told] == sorted(row[0] for row in told)
    beats = line.stored("agent.heartbeat")
    # In order and once each, none of them kept and sent later as if it were new.
    turns = [row[2]["turn"] for row in beats]
    assert turns == sorted(set(turns))
    ages = [(row[3] - datetime.fromisoformat(row[2]["measured_at"])).total_seconds() for row in beats]
    assert max(ages) <= TIMEOUT_SECONDS + SLACK_SECONDS


async def test_what_a_long_cut_left_is_sent_quickly(line: Line) -> None:
    cut = asyncio.create_task(line.proxy.fail(Fault.RESET, times=3))
    line.say(5000)
    await cut
    began = time.monotonic()
    await line.drained()

    print(f"{line.said / (time.monotonic() - began):.0f} events/s after the cut, the last pause between tries included")
    assert [row[2]["n"] for row in line.stored("agent.message")] == list(range(1, 5001))
