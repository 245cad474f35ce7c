"""Choosing the reply that is due."""

from typing import Any

import pytest

from omoi_os.protocol.assignment import NOT_ACCEPTED
from omoi_os.scripted_model.conversation import Conversation
from omoi_os.scripted_model.player import Reply, choose_reply
from omoi_os.scripted_model.scripts import Script, Usage


def bash(command: str, **more: Any) -> dict[str, Any]:
    return {"tool": "Bash", "input": {"command": command}, **more}


def script(*steps: dict[str, Any], **more: Any) -> Script:
    return Script.model_validate({"match": "task", "steps": steps, **more})


def after(*injected: tuple[str, ...], output: str | None = None, **more: Any) -> Conversation:
    """A conversation with these messages before each reply, the one that is due included."""
    return Conversation(prompt="task", injected=injected, output=output, **more)


def played(reply: Reply) -> object:
    """The command that a reply runs, else what it says."""
    return reply.call.input.get("command") if reply.call else reply.text


def test_steps_play_one_after_the_other_and_the_last_text_again() -> None:
    play = script(bash("a"), bash("b"), {"text": "end"})

    assert [played(choose_reply(play, after(*[()] * (n + 1)))) for n in range(5)] == ["a", "b", "end", "end", "end"]


def test_the_same_conversation_gets_the_same_reply() -> None:
    play, conversation = script(bash("a"), {"text": "end"}), after((), output="1")

    assert choose_reply(play, conversation) == choose_reply(play, conversation)


def test_a_repeated_step_counts_once_for_each_time() -> None:
    play = script(bash("a", repeat=3), {"text": "end"})

    assert [played(choose_reply(play, after(*[()] * (n + 1)))) for n in range(4)] == ["a", "a", "a", "end"]


@pytest.mark.parametrize(("last", "said"), [(bash("a"), "done"), (bash("a", text="running"), "running")])
def test_a_last_step_that_calls_a_tool_does_not_call_it_again(last: dict[str, Any], said: str) -> None:
    reply = choose_reply(script(last), after((), ()))

    assert (reply.call, reply.text) == (None, said)


MESSAGES = {
    "on_message": [
        {"match": "red", "steps": [bash("r1"), bash("r2")]},
        {"match": "blue|red", "steps": [bash("b")]},
    ]
}


@pytest.mark.parametrize(
    ("injected", "due"),
    [
        ([(), ("make it red",)], "r1"),
        ([(), ("make it red",), ()], "r2"),
        ([(), ("make it red",), (), ()], "2"),
        ([(), ("make it red",), (), (), ()], "end"),
        ([(), ("green",)], "2"),
        ([(), ("red",), ("blue",)], "b"),
        ([(), ("red",), ("blue",), ()], "r2"),
        ([(), ("blue", "red")], "b"),
        ([(), ("blue", "red"), ()], "r1"),
        ([(), (), (), ("red",)], "r1"),
        ([(), (), (), ("red",), (), ()], "end"),
        ([("red",)], "r1"),
    ],
)
def test_a_message_that_matches_is_answered_next_then_the_rest(injected: list[tuple[str, ...]], due: str) -> None:
    assert played(choose_reply(script(bash("1"), bash("2"), {"text": "end"}, **MESSAGES), after(*injected))) == due


def test_a_subagent_plays_its_own_steps_and_heeds_no_messages() -> None:
    play = script(bash("1"), {"text": "end"}, on_subagent=[bash("s"), {"text": "below"}], **MESSAGES)

    replies = [
        choose_reply(play, after(*injected, is_subagent=True)) for injected in ([("red",)], [(), ()], [(), (), ()])
    ]

    assert [played(reply) for reply in replies] == ["s", "below", "below"]


def test_a_subagent_without_steps_is_done() -> None:
    assert played(choose_reply(script({"text": "end"}), after((), is_subagent=True))) == "done"


def test_the_last_output_and_message_fill_texts_and_inputs() -> None:
    step = {
        "text": "{{output}}/{{ message }}",
        "tool": "T",
        "input": {"a": ["{{message}}", {"b": "{{output}}"}], "n": 1},
    }

    reply = choose_reply(script(step), after(("hello {{output}}",), output="4{{message}}2"))

    assert reply.text == "4{{message}}2/hello {{output}}"
    assert reply.call is not None
    assert reply.call.input == {"a": ["hello {{output}}", {"b": "4{{message}}2"}], "n": 1}


def test_a_text_that_comes_out_empty_is_said_as_done() -> None:
    assert choose_reply(script({"text": "{{output}}"}), after(())).text == "done"


@pytest.mark.parametrize(
    ("given", "sent"), [("a/b.py", "/somewhere/a/b.py"), ("/etc/hosts", "/etc/hosts"), ("./b.py", "/somewhere/b.py")]
)
def test_paths_are_relative_to_the_workspace(given: str, sent: str) -> None:
    step = {"tool": "Write", "input": {"file_path": given, "content": given}}

    reply = choose_reply(script(step), after((), workspace="/somewhere"))

    assert reply.call is not None
    assert reply.call.input == {"file_path": sent, "content": given}


def test_a_reply_carries_what_its_step_asks_for() -> None:
    play = script(bash("a"), bash("b", delay_s=0.5, fail={"status": 529, "times": 2}), usage={"output_tokens": 7})

    reply = choose_reply(play, after((), ()))

    assert (reply.delay_s, reply.step, reply.usage) == (0.5, "steps[1]", Usage(output_tokens=7))
    assert reply.fail is not None
    assert (reply.fail.status, reply.fail.times) == (529, 2)


def test_the_places_of_steps_differ() -> None:
    play = script(bash("1"), on_subagent=[bash("s")], **MESSAGES)

    places = [
        choose_reply(play, injected).step for injected in (after(()), after(("red",)), after((), is_subagent=True))
    ]

    assert places == ["steps[0]", "on_message[0].steps[0]", "on_subagent[0]"]


def test_work_that_was_not_accepted_is_played_from_its_beginning_again() -> None:
    play = script(bash("a"), {"text": "end"})
    refused = f"{NOT_ACCEPTED} it is wrong"

    assert played(choose_reply(play, after((), (), (refused,)))) == "a"
    assert played(choose_reply(play, after((), (), (refused,), ()))) == "end"
    assert played(choose_reply(play, after((), (), (), ("go on",)))) == "end"
    assert played(choose_reply(play, after((), (refused,)))) == "end"
