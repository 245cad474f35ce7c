"""A later attempt resumes the conversation of the previous one, with the real SDK and CLI."""

import json
import re

import pytest

from omoi_os.protocol.messages import ids_in_conversation
from tests.worker.conftest import Worker
from tests.worker.platform import BASH, EDIT, HANG, WRITE, Platform

SESSION = "5c7f3d52-0000-4000-8000-000000000001"
ANSWER = "126410606437752"


async def killed_at_work(worker: Worker, platform: Platform) -> str:
    """Kill a first attempt during its second call. Return its session, which the next attempt gets."""
    platform.steps = [WRITE, HANG]
    process = await worker.start()
    await platform.wait_for(lambda: any(b"toolu_1" in text for text in platform.transcripts.values()))
    process.kill()
    await worker.end()
    await worker.salvage()
    ((session_id, content),) = platform.transcripts.items()
    platform.session = (session_id, content)
    platform.events.clear()
    return session_id


def another(worker: Worker) -> Worker:
    """A worker in the next sandbox, without any file of the first."""
    worker = Worker(worker.platform, worker.root / "again", worker.assignment)
    worker.root.mkdir()
    return worker


async def test_a_killed_attempt_s_conversation_is_resumed(worker: Worker, platform: Platform) -> None:
    session_id = await killed_at_work(worker, platform)
    # Two results are in the conversation: of the file that was written, and of the call that was cut off.
    platform.steps = [{"text": "started over"}, {"text": "started over"}, EDIT, BASH, {"text": "C(50,25) = {output}"}]
    worker = another(worker)
    await worker.start(attempt=2)
    code, said = await worker.end()

    assert (code, said) == (0, "")
    init = platform.of_type("agent.system_message")[0]["event_data"]
    assert (init["session_id"], init["resumed_session_id"]) == (session_id, session_id)
    done = platform.events[-1]["event_data"]
    assert (done["session_id"], done["final_output"]) == (session_id, f"C(50,25) = {ANSWER}")
    assert [event["event_data"]["tool"] for event in platform.of_type("agent.tool_use")] == ["Edit", "Bash"]
    prompts = [json.loads(line) for line in platform.transcripts[session_id].splitlines()]
    said_by_us = [line["message"]["content"] for line in prompts if line["type"] == "user" and "promptId" in line]
    assert "Compute C(50,25) with Python." in str(said_by_us[0])
    resumed = next(text for text in map(str, said_by_us) if "This is a new attempt" in text)
    assert "Compute C(50,25)" not in resumed
    assert "+++ b/binomial.py" in done["session_diff"]


async def test_a_killed_worker_s_conversation_records_no_interrupt(worker: Worker, platform: Platform) -> None:
    session_id = await killed_at_work(worker, platform)

    # Nobody interrupted the agent; it would believe that its command was not wanted.
    assert b"interrupted by user" not in platform.transcripts[session_id]
    assert not re.search(rb'"tool_use_id": ?"toolu_1"', platform.transcripts[session_id])


async def test_what_was_spent_before_is_not_counted_again(worker: Worker, platform: Platform) -> None:
    platform.steps = [WRITE, BASH, {"text": "done"}]
    await worker.start()
    await worker.end()
    first = platform.events[-1]["event_data"]
    platform.session = (first["session_id"], platform.transcripts[first["session_id"]])
    platform.events.clear()
    worker = another(worker)
    await worker.start(attempt=2, feedback="the number is 0")
    assert (await worker.end())[0] == 0

    second = platform.events[-1]["event_data"]
    assert second["session_id"] == first["session_id"]
    # One reply instead of three.
    assert second["cost_usd"] == pytest.approx(first["cost_usd"] / 3)
    assert second["tokens"] == first["tokens"] / 3
    asked = b"The previous attempt was not accepted: the number is 0"
    assert asked in platform.transcripts[second["session_id"]]


@pytest.mark.parametrize("content", [b"", b"no json\n", b'{"type":"user"}\n', b'{"type": "assistant", "message": 1}\n'])
async def test_a_conversation_that_cannot_be_resumed_is_started_over(
    worker: Worker, platform: Platform, content: bytes
) -> None:
    platform.session = (SESSION, content)
    await worker.start(attempt=2)
    code, _ = await worker.end()

    assert code == 0
    done = platform.events[-1]["event_data"]
    assert done["final_output"] == f"C(50,25) = {ANSWER}"
    assert "Compute C(50,25) with Python." in platform.transcripts[done["session_id"]].decode()


async def test_a_conversation_that_the_model_refuses_is_started_over(worker: Worker, platform: Platform) -> None:
    session_id = await killed_at_work(worker, platform)
    worker = another(worker)
    platform.steps = [
        {"text": "started over"},
        {"text": "unused"},
        {"status": 400, "message": "messages.3: no such block"},
    ]
    await worker.start(attempt=2)
    code, _ = await worker.end()

    assert code == 0
    error = platform.of_type("agent.error")[0]["event_data"]
    assert session_id in error["error"]
    assert "no such block" in error["error"]
    done = platform.events[-1]["event_data"]
    assert (done["final_output"], done["session_id"] != session_id) == ("started over", True)
    assert len(platform.of_type("agent.failed")) == 0


async def test_a_first_attempt_asks_for_no_conversation(worker: Worker, platform: Platform) -> None:
    platform.session = (SESSION, b'{"type": "user"}\n')
    await worker.start()
    assert (await worker.end())[0] == 0

    assert "resumed_session_id" not in platform.of_type("agent.system_message")[0]["event_data"]


@pytest.mark.parametrize(
    ("content", "deliver"), [("short", "next_tool"), ("long " * 3000, "next_tool"), ("later", "end_of_turn")]
)
async def test_a_message_that_the_agent_was_given_is_part_of_the_saved_conversation(
    worker: Worker, platform: Platform, content: str, deliver: str
) -> None:
    message_id = await platform.say(content, deliver=deliver)
    await worker.start()
    assert (await worker.end())[0] == 0

    assert any(message_id in asked for asked in platform.asked)
    (conversation,) = platform.transcripts.values()
    assert ids_in_conversation(conversation) == {message_id}


async def test_a_conversation_that_is_lost_is_reported_so_that_its_messages_come_again(
    worker: Worker, platform: Platform
) -> None:
    platform.session = (SESSION, b"damaged\n")
    await worker.start(attempt=2)
    assert (await worker.end())[0] == 0

    (error,) = platform.of_type("agent.error")
    assert error["event_data"]["conversation_lost"] is True
