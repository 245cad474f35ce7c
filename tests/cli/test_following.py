"""Following a sandbox over what a connection may meet."""

import asyncio
import json
from collections.abc import Iterator

import pytest

from omoi_os.bus.memory import MemoryBus
from omoi_os.cli.following import parse
from omoi_os.errors import OmoiError
from omoi_os.sandboxes import repository, service
from omoi_os.sandboxes.lifecycle import SandboxState
from tests.api_process import Reporter
from tests.cli.conftest import Desk
from tests.conftest import NOON, sessions_on

EVENT = {"seq": 1, "event_type": "agent.message", "event_data": {"text": "é"}}
STREAM = f": still here\n\nid: 1\ndata: {json.dumps(EVENT, ensure_ascii=False)}\n\nid: 2\ndata: {{".encode()


def pieces(size: int) -> Iterator[bytes]:
    return (STREAM[start : start + size] for start in range(0, len(STREAM), size))


@pytest.mark.parametrize("size", [1, 7, 1000])
def test_events_are_read_however_the_bytes_come_and_half_a_one_is_none(size: int) -> None:
    assert list(parse(pieces(size))) == [EVENT]


@pytest.mark.parametrize("line", [b"data: <html>\n", b"data: 1\n", b"data: {}\n", b"data: \xff\n"])
def test_what_is_no_event_is_said(line: bytes) -> None:
    with pytest.raises(OmoiError, match="no stream of events"):
        list(parse(iter([line])))


def test_a_server_that_stops_in_order_is_not_taken_for_the_end_of_the_sandbox(desk: Desk) -> None:
    (reporter,) = desk.reporters(1)
    with desk.start("events", reporter.id, "--follow", "--json") as process:
        assert process.stdout is not None
        first = process.stdout.readline()
        assert desk.api.process is not None
        desk.api.process.terminate()
        desk.api.process.wait(30)
        asyncio.run(desk.api.start())
        desk.post(reporter, ("agent.message", {"text": "back again"}))
        second = process.stdout.readline()
        asyncio.run(end(desk, reporter))
        rest, complaint = process.communicate(timeout=60)

    assert (process.returncode, complaint) == (0, "")
    assert [json.loads(line)["event_type"] for line in (first, second, *rest.splitlines())] == [
        "sandbox.created",
        "agent.message",
        "sandbox.terminated",
    ]


async def end(desk: Desk, reporter: Reporter) -> None:
    async with sessions_on(desk.database_url) as sessions, sessions.begin() as session:
        row = await repository.lock(session, reporter.id)
        await service.end(session, MemoryBus(), row, state=SandboxState.STOPPED, reason="test", now=NOON)
