"""What may go wrong during an attempt: outages, kills, signals and other attempts."""

import asyncio
import os
import signal
from pathlib import Path

from omoi_os.protocol.paths import GATEWAY_PORT
from omoi_os.protocol.spool import read_frames
from omoi_os.worker.processes import tree
from tests.worker.conftest import BRANCH, TASK_ID, Worker, git
from tests.worker.platform import BASH, BINOMIAL, EDIT, HANG, WRITE, Platform

ANSWER = "126410606437752"


def spooled(worker: Worker) -> list[str]:
    """The types of the events in the worker's spool."""
    spool = worker.home / ".omoi" / "spool"
    return [event.event_type for event in read_frames(spool.read_bytes())] if spool.exists() else []


def running_below(worker: Worker) -> list[int]:
    """The worker's process and all below it."""
    assert worker.process
    return list(tree(worker.process.pid))


def command_line(pid: int) -> bytes:
    """The command line of a process; empty if it has ended."""
    try:
        return Path(f"/proc/{pid}/cmdline").read_bytes()
    except (FileNotFoundError, ProcessLookupError):
        return b""


def alive(pids: list[int]) -> list[int]:
    """The processes that still run."""
    return [pid for pid in pids if command_line(pid)]


def driver_of(worker: Worker) -> int:
    """The agent driver's process id."""
    for pid in running_below(worker):
        if b"omoi_os.worker.agents.claude.driver" in command_line(pid):
            return pid
    raise AssertionError("the worker has no agent driver")


async def test_an_outage_of_the_events_api_loses_nothing(worker: Worker, platform: Platform) -> None:
    platform.batch_status = 503
    await worker.start()
    await platform.wait_for(lambda: "agent.completed" in spooled(worker))
    assert platform.events == []

    platform.batch_status = None
    code, _ = await worker.end()

    assert code == 0
    assert [event["event_type"] for event in platform.events] == spooled(worker)
    assert platform.events[-1]["event_type"] == "agent.completed"


async def test_a_restart_of_the_server_in_the_middle_loses_nothing(
    worker: Worker, platform: Platform, root: Path, repository: Path
) -> None:
    gate = root / "gate"
    os.mkfifo(gate)
    platform.steps = [WRITE, {"tool": "Bash", "input": {"command": f"cat {gate}"}}, EDIT, BASH, BINOMIAL[-1]]
    await worker.start()
    await platform.wait_for(lambda: len(platform.of_type("agent.tool_use")) == 2)

    await platform.stop()
    await asyncio.to_thread(gate.write_text, "open")
    await platform.start()
    code, _ = await worker.end()

    assert code == 0
    assert [event["event_type"] for event in platform.events] == spooled(worker)
    assert platform.events[-1]["event_data"]["final_output"] == f"C(50,25) = {ANSWER}"
    assert "math.comb" in git(repository, "show", f"{BRANCH}:binomial.py")


async def test_the_gateway_socket_is_enough_and_a_restart_of_the_gateway_behind_it_goes_unnoticed(
    worker: Worker, platform: Platform, root: Path, repository: Path
) -> None:
    gate, gateway_socket = root / "gate", root / "gateway_socket"
    os.mkfifo(gate)
    gateway_socket.mkdir()
    platform.socket = gateway_socket / "gateway.sock"
    await platform.stop()
    await platform.start()
    platform.steps = [WRITE, {"tool": "Bash", "input": {"command": f"cat {gate}"}}, EDIT, BASH, BINOMIAL[-1]]
    worker.behind_gateway = True
    await worker.start(git_url=f"http://127.0.0.1:{GATEWAY_PORT}/git/{repository.name}")
    await platform.wait_for(lambda: len(platform.of_type("agent.tool_use")) == 2)

    await platform.stop()
    await asyncio.to_thread(gate.write_text, "open")
    await platform.start()
    code, said = await worker.end()

    assert (code, said) == (0, "")
    assert platform.events[-1]["event_data"]["final_output"] == f"C(50,25) = {ANSWER}"
    assert platform.of_type("agent.rate_limited") == []
    assert git(repository, "rev-parse", BRANCH) == platform.events[-1]["event_data"]["commit_sha"]


async def test_a_killed_agent_is_reported_as_sigkill_and_its_work_is_kept(
    worker: Worker, platform: Platform, repository: Path
) -> None:
    platform.steps = [WRITE, HANG]
    await worker.start()
    await platform.wait_for(lambda: len(platform.of_type("agent.tool_use")) == 2)
    below = running_below(worker)
    os.kill(driver_of(worker), signal.SIGKILL)
    code, _ = await worker.end()

    assert code == 1
    assert not alive(below)
    assert [event["event_type"] for event in platform.events[-2:]] == ["agent.stream_error", "agent.failed"]
    failed = platform.events[-1]["event_data"]
    assert failed["error_type"] == "sigkill"
    assert failed["session_id"] in platform.transcripts
    assert "+++ b/binomial.py\n" in failed["session_diff"]
    assert "binomial" in git(repository, "show", f"wip/{TASK_ID}:binomial.py")
    assert git(repository, "rev-parse", BRANCH) == git(repository, "rev-parse", "main")


async def test_sigterm_saves_unfinished_work_and_a_later_attempt_continues_from_it(
    worker: Worker, platform: Platform, repository: Path, root: Path
) -> None:
    platform.steps = [WRITE, HANG]
    process = await worker.start()
    await platform.wait_for(lambda: len(platform.of_type("agent.tool_use")) == 2)
    process.terminate()
    code, _ = await worker.end()

    assert code == 143
    assert platform.events[-1]["event_type"] == "agent.shutdown"
    shutdown = platform.events[-1]["event_data"]
    assert shutdown["reason"] == "sigterm"
    assert shutdown["wip_commit"] == git(repository, "rev-parse", f"wip/{TASK_ID}")
    assert shutdown["session_id"] in platform.transcripts
    assert "+++ b/binomial.py\n" in shutdown["session_diff"]

    platform.events.clear()
    platform.steps = [BASH, {"text": "{output}"}]
    again = Worker(platform, root / "again", worker.assignment)
    again.root.mkdir()
    await again.start(attempt=2, feedback="the number was FEEDBACK-1")
    code, _ = await again.end()

    assert code == 0
    completed = platform.events[-1]["event_data"]
    assert (completed["final_output"], completed["files_changed"]) == ("0", ["binomial.py"])
    assert git(repository, "rev-parse", BRANCH) == completed["commit_sha"]
    prompt = b"The previous attempt was not accepted: the number was FEEDBACK-1"
    assert prompt in platform.transcripts[completed["session_id"]]


async def test_sigterm_while_the_platform_is_away_still_ends_and_keeps_the_last_event(
    worker: Worker, platform: Platform
) -> None:
    platform.steps = [WRITE, HANG]
    process = await worker.start()
    await platform.wait_for(lambda: len(platform.of_type("agent.tool_use")) == 2)
    await platform.stop()
    process.terminate()
    code, _ = await worker.end()

    assert code == 143
    assert spooled(worker)[-1] == "agent.shutdown"
    assert (worker.workspace / "binomial.py").exists()


async def test_sigterm_before_the_agent_works_ends_at_once(worker: Worker, platform: Platform) -> None:
    platform.task_ready.clear()
    process = await worker.start(description=None)
    await platform.wait_for_event("agent.started")
    process.terminate()
    code, _ = await worker.end()

    assert code == 143
    assert [event["event_type"] for event in platform.events] == ["agent.started", "agent.shutdown"]


async def test_a_superseded_worker_stops_everything_at_once(worker: Worker, platform: Platform) -> None:
    platform.steps = [WRITE, HANG]
    await worker.start()
    await platform.wait_for(lambda: len(platform.of_type("agent.tool_use")) == 1)
    below = running_below(worker)
    platform.batch_status = 409
    await platform.wait_for(lambda: platform.refused == 1)
    # The command would take a minute.
    async with asyncio.timeout(30):
        code, said = await worker.end()

    assert code == 3
    assert "409" in said
    assert not alive(below)
    assert not (worker.workspace / ".git" / "refs" / "omoi").exists()
