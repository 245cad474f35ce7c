"""A text whose handover at a tool boundary fails is handed over again: at most twice, and never lost."""

from typing import Any

import pytest
from claude_agent_sdk import AssistantMessage, ClaudeSDKClient, SystemMessage, TextBlock

from omoi_os.protocol.agent import Delivered, DriverReport, Say
from omoi_os.protocol.messages import Deliver
from omoi_os.worker.agents.claude.message_injection import MAX_HOOK_CHARACTERS, Turns

REPLY = AssistantMessage([TextBlock("I see.")], model="m")


class Client(ClaudeSDKClient):
    """A client whose CLI accepts every prompt, until it is broken."""

    def __init__(self) -> None:
        super().__init__()
        self.asked: list[str] = []
        self.broken = False

    async def query(self, prompt: Any, session_id: str = "default") -> None:
        if self.broken:
            raise OSError("the CLI is gone")
        self.asked.append(prompt)


class Reporter:
    """Receives reports of deliveries, until it is broken."""

    def __init__(self) -> None:
        self.delivered: list[str] = []
        self.broken = False

    async def receive(self, report: DriverReport) -> None:
        if self.broken:
            raise OSError("the reporter is gone")
        assert isinstance(report, Delivered)
        self.delivered.append(report.message_id)


class Talk:
    """A turn that has started."""

    def __init__(self) -> None:
        self.reporter, self.client = Reporter(), Client()
        self.turns = Turns(self.reporter.receive)

    async def boundary(self, **about: Any) -> str:
        """Return the text that the model gets at the end of a tool."""
        (matcher,) = self.turns.hooks()["PostToolUse"]
        data: Any = {"hook_event_name": "PostToolUse", **about}
        answer: Any = await matcher.hooks[0](data, "t1", {"signal": None})
        return str(answer.get("hookSpecificOutput", {}).get("additionalContext", ""))

    async def say(self, *texts: str) -> None:
        for text in texts:
            await self.turns.say(Say(text, Deliver.NEXT_TOOL, f"id-{text[:3]}"))


@pytest.fixture
async def talk() -> Talk:
    talk = Talk()
    await talk.turns.begin(talk.client, "do it")
    return talk


async def test_a_hook_that_fails_gives_its_messages_to_the_next_one(talk: Talk) -> None:
    await talk.say("one", "two")
    talk.reporter.broken = True
    with pytest.raises(OSError, match="the reporter is gone"):
        await talk.boundary()
    talk.reporter.broken = False
    await talk.say("three")

    assert await talk.boundary() == "one\n\ntwo\n\nthree"
    assert await talk.boundary() == ""
    assert talk.reporter.delivered == ["id-one", "id-two", "id-thr"]


async def test_a_long_message_that_the_cli_did_not_take_is_kept(talk: Talk) -> None:
    await talk.say("x" * (MAX_HOOK_CHARACTERS + 1))
    talk.client.broken = True
    with pytest.raises(OSError, match="the CLI is gone"):
        await talk.boundary()
    assert talk.reporter.delivered == []
    talk.client.broken = False

    assert await talk.boundary() == ""
    assert [len(text) for text in talk.client.asked] == [5, MAX_HOOK_CHARACTERS + 1]
    assert talk.reporter.delivered == ["id-xxx"]


async def test_what_the_cli_did_not_hear_from_a_hook_is_said_again_once(talk: Talk) -> None:
    await talk.say("one")
    assert await talk.boundary() == "one"

    talk.turns.follow(SystemMessage("informational", {"text": "PostToolUse:Bash hook error"}))
    assert await talk.boundary() == "one"
    talk.turns.follow(REPLY)
    talk.turns.follow(SystemMessage("informational", {"text": "PostToolUse:Bash hook error"}))

    assert await talk.boundary() == ""


async def test_what_a_hook_was_given_right_before_the_end_of_a_turn_begins_the_next(talk: Talk) -> None:
    await talk.say("one")
    await talk.boundary()

    assert talk.turns.end_turn() == (False, 1)
    await talk.turns.begin_next()

    assert talk.client.asked == ["do it", "one"]


async def test_a_sub_agent_s_tool_and_one_that_was_interrupted_are_no_boundary(talk: Talk) -> None:
    await talk.say("one")

    assert await talk.boundary(agent_id="sub-1") == ""
    assert await talk.boundary(is_interrupt=True) == ""
    assert await talk.boundary() == "one"
