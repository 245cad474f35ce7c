"""A hostile agent driver: whatever it sends, the worker continues."""

import asyncio
import sys
from collections.abc import AsyncIterator
from pathlib import Path
from typing import Any

import pytest

from omoi_os.protocol.agent import MAX_LINE_BYTES, AgentEvent, BadMessage, DriverReport, Ready, Started, encode
from omoi_os.protocol.events import EventType
from omoi_os.worker.reporter.blobs import Blobs
from omoi_os.worker.reporter.driver_process import DriverProcess
from omoi_os.worker.reporter.report import MAX_BAD_MESSAGES, Report
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


async def say(script: str, home: Path) -> list[DriverReport | BadMessage]:
    """What is read from a driver that runs this Python with `s`, its socket."""
    program = f"import socket; s = socket.socket(fileno={CHANNEL}); {script}"
    driver = await DriverProcess.adopt(launch(str(home), [sys.executable, "-I", "-S", "-c", program]))
    async with asyncio.timeout(60):
        messages = [report async for report in driver.reports()]
        await driver.wait()
    await driver.kill()
    return messages


def types(spool: Spool) -> list[str]:
    return [event.event_type for event in spool.batch(max_events=1000, max_bytes=1 << 30)]


async def test_lines_are_read_however_they_are_cut(root: Path) -> None:
    script = (
        """d = b'{"type": "ready"}\\n{"type": "event", "event_type": "agent.message", "event_data": {"text": "'"""
        """ + b'x' * 600000 + b'"}}\\n{"type": "started", "session_id": "s"}\\n'; s.sendall(d[:3]); s.sendall(d[3:])"""
    )

    assert await say(script, root) == [Ready(), AgentEvent("agent.message", {"text": "x" * 600_000}), Started("s")]


async def test_a_line_without_end_is_skipped_and_the_next_one_is_read(root: Path) -> None:
    endless = f"[s.sendall(b'x' * 2**20) for _ in range({MAX_LINE_BYTES // 2**20 + 2})]"
    script = f"{endless}; s.sendall(b'\\n' + {encode(Ready())!r})"
    messages = await say(script, root)

    assert isinstance(messages[0], BadMessage)
    assert messages[1:] == [Ready()]


@pytest.mark.parametrize("line", [b"{", b"[]", b"\xff\xfe", b"[" * 100_000, b"1e999", b'{"a": 1e999}', b"9" * 5000])
async def test_nonsense_is_told_and_not_fatal(line: bytes, root: Path) -> None:
    messages = await say(f"s.sendall({line!r} + b'\\n' + {encode(Ready())!r})", root)

    assert isinstance(messages[0], BadMessage)
    assert messages[1] == Ready()


@pytest.mark.parametrize(
    "event_type", ["agent.completed", "agent.failed", "sandbox.terminated", "task.verified", 7, None, ["x"]]
)
async def test_a_driver_may_not_say_how_the_attempt_ended(
    event_type: Any, report: Report, spool: Spool, root: Path
) -> None:
    line = encode(AgentEvent(event_type, {})) + encode(AgentEvent("agent.message", {"text": "fine"}))
    for received in await say(f"s.sendall({line!r})", root):
        assert isinstance(received, AgentEvent | BadMessage)
        report.relay(received)

    assert types(spool) == ["agent.error", "agent.message"]


async def test_a_flood_of_nonsense_is_told_only_so_often(report: Report, spool: Spool) -> None:
    for _ in range(1000):
        report.relay(BadMessage("nonsense"))

    assert len(types(spool)) == MAX_BAD_MESSAGES


async def test_deeply_nested_data_is_refused(report: Report, spool: Spool) -> None:
    deep: Any = {}
    for _ in range(5000):
        deep = {"a": deep}
    report.relay(AgentEvent("agent.message", deep))

    assert types(spool) == ["agent.error"]


async def test_the_heartbeat_knows_the_turn_and_the_tool(report: Report) -> None:
    used = {"tool": "Bash", "tool_use_id": "t1", "turn": 3}
    report.relay(AgentEvent("agent.tool_use", used))
    status = report.status()
    assert (status["turn"], status["current_tool"], status["spooled"]) == (3, "Bash", 1)
    assert status["current_tool_since"] is not None
    assert report.in_tool

    report.relay(AgentEvent("agent.tool_completed", used))
    assert report.status()["current_tool"] is None
    assert not report.in_tool


async def test_what_the_worker_tells_by_itself_carries_the_agents_turn(report: Report, spool: Spool) -> None:
    report.emit(EventType.AGENT_STARTED, {})
    report.relay(AgentEvent(EventType.AGENT_ASSISTANT_MESSAGE, {"turn": 3}))
    report.emit(EventType.AGENT_STREAM_ERROR, {"error": "It broke off."})
    report.emit(EventType.AGENT_INTERRUPTED, {"turn": 2})

    told = [event.event_data.get("turn") for event in spool.batch(max_events=10, max_bytes=1 << 30)]
    assert told == [None, 3, 3, 2]
