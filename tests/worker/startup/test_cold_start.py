"""The worker's first event is spooled and sent before anything slow is imported, and stored once."""

import asyncio
import json
import socket
import subprocess
from dataclasses import MISSING, fields
from datetime import UTC, datetime
from uuid import UUID

import pytest

from omoi_os.protocol.assignment import Assignment
from omoi_os.protocol.spool import read_frames
from omoi_os.worker.command import PYTHON, SOURCE
from omoi_os.worker.reporter import http
from omoi_os.worker.startup import cold_start, variables
from omoi_os.worker.startup.cold_start import EarlyStart, report_start
from tests.worker.conftest import BRANCH, Worker
from tests.worker.platform import Platform

#: Modules that take milliseconds to import.
SLOW = {"asyncio", "json", "socket", "selectors", "ssl", "re", "dataclasses", "pathlib", "typing", "enum", "signal"}


@pytest.mark.parametrize("stage", ["cold_start", "warm_start", "handover"])
def test_the_first_stage_imports_nothing_slow(stage: str) -> None:
    program = f"import sys; sys.path.insert(0, {SOURCE!r}); import omoi_os.worker.startup.{stage}; print(*sys.modules)"
    argv = [PYTHON, "-I", "-S", "-c", program]
    printed = subprocess.run(argv, capture_output=True, text=True, check=True, env={}).stdout

    assert set(printed.split()) & SLOW == set()


async def test_the_event_is_spooled_and_sent_as_the_report_would(worker: Worker, platform: Platform) -> None:
    worker.home.mkdir()
    early = EarlyStart(worker.environ())
    before = datetime.now(UTC)
    await asyncio.to_thread(report_start, early, variables.assignment(early.variables))

    assert early.is_reported
    assert early.answer is not None
    answer = await http.receive(socket.socket(fileno=early.answer), timeout=60)
    assert (answer.status, answer.json()["last_seq"]) == (200, 1)
    (spooled,) = read_frames(worker.paths.spool.read_bytes())
    assert platform.events == [spooled.to_json()]
    assert (spooled.event_type, spooled.source, spooled.seq) == ("agent.started", "worker", 1)
    assert UUID(spooled.event_id).version == 4
    assert before <= datetime.fromisoformat(str(spooled.occurred_at)) <= datetime.now(UTC)
    told = {name: spooled.event_data[name] for name in ("attempt", "branch_name", "model", "mode")}
    expected = {"attempt": 1, "branch_name": BRANCH, "model": "claude-sonnet-4-5", "mode": "implementation"}
    assert told == expected


async def test_what_could_not_be_sent_waits_in_the_spool(worker: Worker, platform: Platform) -> None:
    worker.home.mkdir()
    await platform.stop()
    early = EarlyStart(worker.environ())
    await asyncio.to_thread(report_start, early, variables.assignment(early.variables))

    assert (early.is_reported, early.answer) == (True, None)
    assert len(read_frames(worker.paths.spool.read_bytes())) == 1


async def test_an_event_that_was_refused_at_first_is_stored_once(worker: Worker, platform: Platform) -> None:
    platform.batch_status = 503
    platform.steps = [{"text": "done"}]
    await worker.start()
    await platform.wait_for(lambda: platform.refused >= 2)
    platform.batch_status = None
    assert (await worker.end())[0] == 0

    assert len(platform.of_type("agent.started")) == 1
    assert [event["seq"] for event in platform.events] == list(range(1, len(platform.events) + 1))


async def test_a_worker_that_died_after_its_first_event_leaves_its_number_taken(
    worker: Worker, platform: Platform
) -> None:
    worker.home.mkdir()
    program = (
        f"import sys; sys.path.insert(0, {SOURCE!r}); from omoi_os.worker.startup.cold_start import start; start()"
    )
    assert (await worker.run([PYTHON, "-I", "-S", "-c", program], worker.environ()))[0] == 0
    platform.steps = [{"text": "done"}]
    await worker.start()
    assert (await worker.end())[0] == 0

    assert [event["seq"] for event in platform.of_type("agent.started")] == [1, 2]


async def test_an_attempt_that_was_superseded_learns_it_from_the_first_answer(
    worker: Worker, platform: Platform
) -> None:
    platform.batch_status = 409
    await worker.start()
    code, said = await worker.end()

    assert (code, "Another attempt took over" in said) == (3, True)
    assert platform.refused == 1


async def test_a_sigterm_that_comes_before_anyone_handles_it_is_not_lost(worker: Worker, platform: Platform) -> None:
    process = await worker.start()
    await platform.wait_for_event("agent.started")
    process.terminate()

    assert (await worker.end())[0] == 143
    assert platform.events[-1]["event_type"] == "agent.shutdown"


def test_the_first_stage_reads_and_writes_json_as_the_json_module_does() -> None:
    texts = {"A": "plain", "B": 'quote " back \\ slash', "C": "ü\u2028😀\n\t\x01", "": ""}
    assert variables.parse(json.dumps(texts).encode()) == texts
    assert variables.parse(json.dumps(texts, ensure_ascii=False, indent=2).encode()) == texts

    for branch in (*texts.values(), None):
        written = cold_start._started({"attempt": 7, "branch_name": branch, "model": "m"})
        assert written is not None
        event = json.loads(written)
        assert json.dumps(event).encode() == written
        assert (event["event_data"]["attempt"], event["event_data"]["branch_name"]) == (7, branch)
    assert cold_start._started({"attempt": 1, "branch_name": ["not a text"]}) is None


def test_an_assignments_needed_fields_are_known_before_it_is() -> None:
    needed = {field.name for field in fields(Assignment) if field.default is MISSING}

    assert needed == variables.ASSIGNMENT_FIELDS


@pytest.mark.parametrize(
    ("raw", "reason"),
    [
        (b"", "not JSON"),
        (b"{", "not JSON"),
        (b"{} {}", "not JSON"),
        (b'"\xff"', "not JSON"),
        (b"[" * 100_000, "not JSON"),
        (b"[]", "not a JSON object of strings"),
        (b'{"A": 1}', "not a JSON object of strings"),
    ],
)
def test_variables_that_make_no_start_are_refused_with_a_reason(raw: bytes, reason: str) -> None:
    with pytest.raises(variables.BadEnvironment, match=reason):
        variables.parse(raw)


def test_a_bad_assignment_is_told_by_its_variable(worker: Worker) -> None:
    for text in ("%", "e30=", "W10=", "AAAA"):
        with pytest.raises(variables.BadEnvironment, match="TASK_DATA_BASE64 is not an assignment"):
            variables.assignment(worker.environ() | {"TASK_DATA_BASE64": text})
