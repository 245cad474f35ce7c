"""When messages reach an agent, at every moment of a turn, with the real SDK and CLI."""

import asyncio
import os
import signal
from pathlib import Path

import pytest

from tests.worker.attempt.test_attempt import command_line, running_below
from tests.worker.conftest import BRANCH, Worker, git
from tests.worker.platform import BASH, EDIT, HANG, WRITE, Platform, Step

DONE: Step = {"text": "done"}


def gated(root: Path, then: str = "true") -> tuple[Path, Step]:
    """A command that runs until something is written to a named pipe."""
    gate = root / "gate"
    os.mkfifo(gate)
    return gate, {"tool": "Bash", "input": {"command": f"cat {gate}; {then}"}}


def mark(message_id: str) -> str:
    return f"[message {message_id} "


async def at_rest(pids: list[int]) -> None:
    """Wait until these processes are idle: their processor time no longer changes."""
    before: list[list[str]] = []
    while (
        spent := [Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[11:13] for pid in pids]
    ) != before:
        before = spent
        await asyncio.sleep(0.5)


async def in_the_tool(platform: Platform, count: int = 1) -> None:
    await platform.wait_for(lambda: len(platform.of_type("agent.tool_use")) == count)


async def handed_to_worker(platform: Platform) -> None:
    """Wait until the worker has all messages so far: it has polled again."""
    polls = platform.polls
    await platform.wait_for(lambda: platform.polls > polls)


@pytest.mark.parametrize("then", ["true", "false"], ids=["that goes well", "that fails"])
async def test_a_message_is_in_the_model_request_after_a_tool(
    worker: Worker, platform: Platform, root: Path, then: str
) -> None:
    gate, step = gated(root, then)
    platform.steps = [step, DONE]
    await worker.start(acceptance=())
    await in_the_tool(platform)
    messages = [await platform.say(text) for text in ("one", "two", "three " + "x" * 20_000)]
    await platform.wait_for(lambda: platform.polls >= 2)
    await asyncio.to_thread(gate.write_text, "open")
    code, _ = await worker.end()

    assert code == 0
    assert platform.model_calls == 2
    paths = [platform.asked[1].index(mark(message)) for message in messages]
    assert paths == sorted(paths)
    assert "x" * 20_000 in platform.asked[1]
    injected = platform.of_type("agent.message_injected")
    assert [event["event_data"]["message_id"] for event in injected] == messages
    assert all(event["event_data"]["turn"] == 1 for event in injected)


async def test_a_message_that_finds_no_tool_boundary_any_more_begins_a_new_turn(
    worker: Worker, platform: Platform
) -> None:
    platform.steps = [{"text": "done", "hold": True}]
    await worker.start(acceptance=())
    await platform.wait_for(lambda: platform.model_calls == 1)
    message = await platform.say("wait for me")
    await handed_to_worker(platform)
    platform.may_answer.set()
    code, _ = await worker.end()

    assert code == 0
    assert platform.model_calls == 2
    assert mark(message) in platform.asked[1]
    assert len(platform.of_type("agent.completed")) == 1
    types = [event["event_type"] for event in platform.events]
    assert types.index("agent.message_injected") < types.index("agent.completed")


async def test_the_end_of_the_turn_is_waited_for(worker: Worker, platform: Platform, root: Path) -> None:
    gate, step = gated(root)
    platform.steps = [step, DONE]
    await worker.start(acceptance=())
    await in_the_tool(platform)
    message = await platform.say("afterwards", deliver="end_of_turn")
    await handed_to_worker(platform)
    await asyncio.to_thread(gate.write_text, "open")
    code, _ = await worker.end()

    assert code == 0
    assert [mark(message) in asked for asked in platform.asked] == [False, False, True]


async def test_now_kills_the_running_command_and_everything_that_waits_goes_along(
    worker: Worker, platform: Platform
) -> None:
    platform.steps = [HANG, DONE]
    await worker.start(acceptance=())
    await in_the_tool(platform)
    messages = [await platform.say("first"), await platform.say("leave it", message_type="interrupt", deliver="now")]
    interrupted = await platform.wait_for_event("agent.interrupted")
    code, _ = await worker.end()

    assert code == 0
    assert interrupted["event_data"] == {
        "reason": "interrupt from user:me@x",
        "message_id": messages[1],
        "turn": 1,
    }
    assert platform.model_calls == 2
    assert platform.asked[1].index(mark(messages[0])) < platform.asked[1].index(mark(messages[1]))
    (killed,) = platform.of_type("agent.tool_completed")
    assert killed["event_data"]["duration_ms"] < 30_000
    assert platform.events[-1]["event_data"]["final_output"] == "done"


async def test_what_was_said_before_the_agent_was_there_reaches_it(worker: Worker, platform: Platform) -> None:
    message = await platform.say("early", deliver="now", message_type="interrupt")
    platform.steps = [WRITE, EDIT, BASH, DONE]
    await worker.start()
    code, _ = await worker.end()

    assert code == 0
    assert any(mark(message) in asked for asked in platform.asked)
    assert platform.of_type("agent.interrupted") == []


async def test_a_follow_up_is_done_and_handed_in_and_then_the_worker_goes_by_itself(
    worker: Worker, platform: Platform, repository: Path
) -> None:
    platform.steps = [WRITE, DONE]
    await worker.start(acceptance=(), linger_seconds=2, heartbeat_seconds=0.2)
    first = (await platform.wait_for_event("agent.completed"))["event_data"]
    waiting = (await platform.wait_for_event("agent.waiting"))["event_data"]
    await platform.wait_for(lambda: platform.heartbeats[-1]["event_data"]["status"] == "waiting")
    platform.steps = [WRITE, EDIT, {"text": "changed"}]
    await platform.say("make it right")
    code, _ = await worker.end()

    assert code == 0
    assert waiting == {"turn": 2, "linger_seconds": 2, "commit_sha": first["commit_sha"]}
    assert platform.heartbeats[-1]["event_data"]["busy"] is False
    second = platform.of_type("agent.completed")[1]["event_data"]
    assert second["session_id"] == first["session_id"]
    assert second["final_output"] == "changed"
    assert (first["branch_name"], first["commit_sha"]) == (BRANCH, git(repository, "rev-parse", BRANCH))
    assert second["commit_sha"] == git(repository, "rev-parse", second["branch_name"]) != first["commit_sha"]
    assert second["branch_name"].startswith("wip/")
    assert len(platform.of_type("agent.waiting")) == 2


async def test_a_bare_stop_is_waited_after_where_the_worker_may_stay(worker: Worker, platform: Platform) -> None:
    platform.steps = [WRITE, HANG, DONE]
    await worker.start(acceptance=(), linger_seconds=1)
    await in_the_tool(platform, 2)
    stopped = await platform.say("Stop!", message_type="interrupt", deliver="now")
    await platform.wait_for_event("agent.waiting")
    assert platform.of_type("agent.completed") == []
    calls = platform.model_calls
    code, _ = await worker.end()

    assert (code, platform.model_calls) == (0, calls)
    completed = platform.of_type("agent.completed")[0]["event_data"]
    assert completed["stop_reason"] == "interrupted"
    assert [event["event_data"]["message_id"] for event in platform.of_type("agent.message_injected")] == [stopped]


async def test_a_stop_of_the_sandbox_while_it_waits_ends_cleanly(worker: Worker, platform: Platform) -> None:
    platform.steps = [WRITE, DONE]
    process = await worker.start(acceptance=(), linger_seconds=600)
    await platform.wait_for_event("agent.waiting")
    below = running_below(worker)
    process.terminate()
    code, _ = await worker.end()

    assert code == 143
    assert platform.events[-1]["event_type"] == "agent.shutdown"
    assert not any(command_line(pid) for pid in below)


async def test_a_killed_cli_is_told_apart_from_one_that_ended(worker: Worker, platform: Platform) -> None:
    platform.steps = [{"text": "half a sentence", "hang": True}]
    await worker.start(acceptance=())
    await platform.wait_for(lambda: platform.hanging == 1)
    (cli,) = (pid for pid in running_below(worker) if b"_bundled/claude" in command_line(pid).split(b"\0")[0])
    await at_rest(running_below(worker))
    os.kill(cli, signal.SIGKILL)
    code, _ = await worker.end()

    assert code == 1
    error = platform.of_type("agent.stream_error")[0]["event_data"]
    assert (error["error_type"], platform.events[-1]["event_data"]["stop_reason"]) == ("sigkill", "error")
    assert error["partial_output"] == "half a sentence"
    assert "SIGKILL" in error["error"]
    assert error["hint"]


async def test_no_end_is_told_while_an_api_that_is_away_may_hold_a_message(
    worker: Worker, platform: Platform, root: Path
) -> None:
    gate, step = gated(root)
    platform.steps = [step, DONE]
    await worker.start(acceptance=())
    await in_the_tool(platform)
    platform.messages_status = 503
    message = await platform.say("said during the outage")
    await asyncio.to_thread(gate.write_text, "open")
    refused = platform.polls
    await platform.wait_for(lambda: platform.model_calls == 2 and platform.polls > refused + 1)
    platform.messages_status = None
    code, _ = await worker.end()

    assert code == 0
    assert mark(message) in platform.asked[-1]
    assert [event["event_data"]["message_id"] for event in platform.of_type("agent.message_injected")] == [message]
