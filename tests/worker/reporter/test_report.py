"""A hostile child: whatever it says, the worker goes on."""

import asyncio
import sys
from collections.abc import AsyncIterator
from pathlib import Path
from typing import Any

import pytest

from omoi_os.protocol.events import EventType
from omoi_os.worker.reporter.blobs import Blobs
from omoi_os.worker.reporter.driver_process import MAX_LINE_BYTES, AgentChild, NotJson
from omoi_os.worker.reporter.report import MAX_UNREADABLE, Report
from omoi_os.worker.reporter.spool import Spool
from omoi_os.worker.startup.driver_start import CHANNEL, launch


@pytest.fixture
async def spool(root: Path) -> AsyncIterator[Spool]:
    spool = Spool(root / "spool")
    yield spool
    spool.close()


@pytest.fixture
def report(spool: Spool, root: Path) -> Report:
    return Report(spool, blobs=Blobs(root / "blobs"))


async def say(script: str, home: Path) -> list[dict[str, Any] | NotJson]:
    """What is read from a child that runs this Python with `s`, its socket."""
    program = f"import socket; s = socket.socket(fileno={CHANNEL}); {script}"
    child = await AgentChild.adopt(launch(str(home), [sys.executable, "-I", "-S", "-c", program]))
    async with asyncio.timeout(60):
        messages = [message async for message in child.messages()]
        await child.wait()
    await child.kill()
    return messages


def types(spool: Spool) -> list[str]:
    return [event.event_type for event in spool.batch(max_events=1000, max_bytes=1 << 30)]


async def test_lines_are_read_however_they_are_cut(root: Path) -> None:
    script = (
        """d = b'{"n": 1}\\n{"text": "' + b'x' * 600000 + b'"}\\n{"n": 3}\\n'; s.sendall(d[:3]); s.sendall(d[3:])"""
    )

    assert await say(script, root) == [{"n": 1}, {"text": "x" * 600_000}, {"n": 3}]


async def test_a_line_without_end_is_skipped_and_the_next_one_is_read(root: Path) -> None:
    script = f"[s.sendall(b'x' * 2**20) for _ in range({MAX_LINE_BYTES // 2**20 + 2})]; s.sendall(b'\\n{{}}\\n')"
    messages = await say(script, root)

    assert isinstance(messages[0], NotJson)
    assert messages[1:] == [{}]


@pytest.mark.parametrize("line", [b"{", b"[]", b"\xff\xfe", b"[" * 100_000, b"1e999", b'{"a": 1e999}', b"9" * 5000])
async def test_nonsense_is_told_and_not_fatal(line: bytes, root: Path) -> None:
    messages = await say(f"s.sendall({line!r} + b'\\n{{}}\\n')", root)

    assert isinstance(messages[0], NotJson)
    assert messages[1] == {}


async def test_a_child_may_not_say_how_the_attempt_ended(report: Report, spool: Spool) -> None:
    for event_type in ("agent.completed", "agent.failed", "sandbox.terminated", "task.verified", 7, None, ["x"]):
        report.relay({"event_type": event_type, "event_data": {}})
    report.relay({"event_type": "agent.message", "event_data": "text"})
    report.relay({"event_type": "agent.message", "event_data": {"text": "fine"}})

    assert types(spool) == ["agent.error"] * 8 + ["agent.message"]


async def test_a_flood_of_nonsense_is_told_only_so_often(report: Report, spool: Spool) -> None:
    for _ in range(1000):
        report.relay(NotJson("nonsense"))

    assert len(types(spool)) == MAX_UNREADABLE


async def test_deeply_nested_data_is_refused(report: Report, spool: Spool) -> None:
    deep: Any = {}
    for _ in range(5000):
        deep = {"a": deep}
    report.relay({"event_type": "agent.message", "event_data": deep})

    assert types(spool) == ["agent.error"]


async def test_the_heartbeat_knows_the_turn_and_the_tool(report: Report) -> None:
    used = {"tool": "Bash", "tool_use_id": "t1", "turn": 3}
    report.relay({"event_type": "agent.tool_use", "event_data": used})
    status = report.status()
    assert (status["turn"], status["current_tool"], status["spooled"]) == (3, "Bash", 1)
    assert status["current_tool_since"] is not None
    assert report.in_tool

    report.relay({"event_type": "agent.tool_completed", "event_data": used})
    assert report.status()["current_tool"] is None
    assert not report.in_tool


async def test_what_the_worker_tells_by_itself_carries_the_agents_turn(report: Report, spool: Spool) -> None:
    report.emit(EventType.AGENT_STARTED, {})
    report.relay({"event_type": EventType.AGENT_ASSISTANT_MESSAGE, "event_data": {"turn": 3}})
    report.emit(EventType.AGENT_STREAM_ERROR, {"error": "It broke off."})
    report.emit(EventType.AGENT_INTERRUPTED, {"turn": 2})

    told = [event.event_data.get("turn") for event in spool.batch(max_events=10, max_bytes=1 << 30)]
    assert told == [None, 3, 3, 2]
