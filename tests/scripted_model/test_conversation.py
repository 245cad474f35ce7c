"""Reading requests, in the forms that the agent's CLI sends."""

from typing import Any

import pytest

from omoi_os.ids import uuid7
from omoi_os.protocol.messages import Message
from omoi_os.scripted_model.conversation import handed_over, read_conversation, split_notes

ENVIRONMENT = "# Environment\n - Primary working directory: /somewhere/ws\n - Platform: linux"
TOKENS = "\n\n<system-reminder>\n<total_tokens>14996959 tokens left</total_tokens>\n</system-reminder>"
SURFACED = (
    "The user sent a new message while you were working:\n{}\n\n"
    "This is how Claude Code surfaces messages the user sends mid-turn. Address the message above."
)


def text(value: str) -> dict[str, Any]:
    return {"type": "text", "text": value}


def user(*blocks: dict[str, Any]) -> dict[str, Any]:
    return {"role": "user", "content": list(blocks)}


def call(identity: str) -> dict[str, Any]:
    return {"role": "assistant", "content": [{"type": "tool_use", "id": identity, "name": "Bash", "input": {}}]}


def result(identity: str, content: object) -> dict[str, Any]:
    return {"type": "tool_result", "tool_use_id": identity, "content": content}


def test_notes_are_no_part_of_what_was_said() -> None:
    request = {
        "messages": [
            user(text(f"<system-reminder>\n{ENVIRONMENT}\n</system-reminder>"), text("Do the task.")),
            call("a"),
            user(result("a", f"42{TOKENS}")),
        ]
    }

    conversation = read_conversation(request)

    assert (conversation.prompt, conversation.output) == ("Do the task.", "42")
    assert (conversation.injected, conversation.replies, conversation.message) == (((), ()), 1, None)
    assert conversation.workspace == "/somewhere/ws"


def test_notes_may_come_as_turns_of_the_system() -> None:
    request = {
        "messages": [
            user(text("Do the task.")),
            {"role": "system", "content": ENVIRONMENT},
            call("a"),
            user(result("a", "42")),
            {"role": "system", "content": [text(SURFACED.format("one\nmore"))]},
            call("b"),
        ]
    }

    conversation = read_conversation(request)

    assert (conversation.prompt, conversation.workspace) == ("Do the task.", "/somewhere/ws")
    assert conversation.injected == ((), ("one\nmore",), ())


def test_without_a_note_the_workspace_is_the_sandboxs() -> None:
    assert read_conversation({"messages": [user(text("Do it."))]}).workspace == "/workspace"


@pytest.mark.parametrize("wrapped", [True, False])
def test_messages_to_a_working_agent_are_found_in_order(*, wrapped: bool) -> None:
    notes = [SURFACED.format("first"), SURFACED.format("second"), "PostToolUse:Bash hook additional context: third"]
    output = result("a", "42" + "".join(f"\n\n<system-reminder>\n{note}\n</system-reminder>" for note in notes))
    injected = (
        [user(output)] if wrapped else [user(result("a", "42")), {"role": "system", "content": "\n\n".join(notes)}]
    )

    conversation = read_conversation({"messages": [user(text("Do it.")), call("a"), *injected]})

    assert conversation.injected == ((), ("first", "second", "third"))
    assert (conversation.output, conversation.message) == ("42", "third")


def marked(content: str) -> str:
    return Message(str(uuid7()), "user_message", content, "next_tool", "user:ada@example.org").marked()


@pytest.mark.parametrize("wrapped", [True, False])
def test_messages_come_without_the_platforms_marks_however_they_are_handed_over(*, wrapped: bool) -> None:
    notes = [
        f"PostToolUse:Bash hook additional context: {marked('first')}\n\n{marked('second, C(10,5)')}",
        SURFACED.format(marked("third\n\nof two parts")),
    ]
    output = result("a", "42" + "".join(f"\n\n<system-reminder>\n{note}\n</system-reminder>" for note in notes))
    injected = (
        [user(output)] if wrapped else [user(result("a", "42")), {"role": "system", "content": "\n\n".join(notes)}]
    )
    request = {"messages": [user(text("Do it.")), call("a"), *injected, call("b"), user(text(marked("a new turn")))]}

    conversation = read_conversation(request)

    assert conversation.injected == ((), ("first", "second, C(10,5)", "third\n\nof two parts"), ("a new turn",))
    assert (conversation.output, conversation.message) == ("42", "a new turn")


def test_a_later_prompt_is_a_message_but_marks_and_skills_are_not() -> None:
    request = {
        "messages": [
            user(text("Do it.")),
            call("a"),
            user(result("a", "Launching skill: s"), text("Base directory for this skill: /x\n\nBody")),
            call("b"),
            user(result("b", "stopped"), text("[Request interrupted by user for tool use]\n"), text("Go on.")),
        ]
    }

    assert read_conversation(request).injected == ((), (), ("Go on.",))


def test_a_call_whose_result_was_lost_was_not_played() -> None:
    request = {
        "messages": [
            user(text("Do it.")),
            call("a"),
            user(result("a", "42")),
            call("b"),
            user(result("b", "[Tool call interrupted: the session ended before this call's result was recorded.]")),
            {"role": "assistant", "content": [text("No response requested.")]},
            user(text("Go on.")),
        ]
    }

    assert read_conversation(request).injected == ((), ("Go on.",))


def test_a_result_may_have_several_texts() -> None:
    output = result("a", [text("one"), {"type": "image"}, text(f"two{TOKENS}")])

    assert read_conversation({"messages": [user(text("Do it.")), call("a"), user(output)]}).output == "one\n\ntwo"


def test_a_subagent_is_recognised_by_the_system_prompt_or_by_the_caller() -> None:
    messages = [user(text("Look."))]
    marked = {"system": [text("x-anthropic-billing-header: cc_is_subagent=true;")], "messages": messages}

    assert read_conversation(marked).is_subagent
    assert read_conversation({"messages": messages}, is_subagent=True).is_subagent
    assert not read_conversation({"system": "Be good.", "messages": messages}).is_subagent


@pytest.mark.parametrize(
    "body",
    [
        {},
        {"messages": None, "system": 3},
        {"messages": [1, {}, {"role": "user"}, {"role": "user", "content": [1, {}, {"type": "text", "text": 3}]}]},
        {"messages": [{"role": "assistant", "content": {"type": "tool_use"}}, {"role": 4, "content": "x"}]},
        {"messages": [{"role": "user", "content": [{"type": "tool_result", "content": {"a": 1}}]}]},
    ],
)
def test_what_has_no_known_form_is_passed_over(body: dict[str, Any]) -> None:
    assert read_conversation(body).prompt == ""


def test_a_reminder_that_never_ends_is_text() -> None:
    assert split_notes("a <system-reminder> b") == ("a <system-reminder> b", [])


def test_a_great_many_open_reminders_are_read_quickly() -> None:
    hostile = "<system-reminder>The user sent a new message while you were working:\n" * 200_000

    said, notes = split_notes(hostile)

    assert (len(said), notes) == (len(hostile.strip()), [])
    assert len(handed_over(hostile.replace("<system-reminder>", ""))) == 200_000
