"""Decide which reply of a script is due in a conversation."""

import re
from collections import deque
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field
from pathlib import PurePosixPath
from typing import Any

from omoi_os.protocol.assignment import NOT_ACCEPTED
from omoi_os.scripted_model.conversation import Conversation
from omoi_os.scripted_model.scripts import MAX_MATCHED_CHARS, Fail, Script, Step, Usage

#: The reply after the last step of a script without texts.
DONE = "done"

_BLANK = re.compile(r"\{\{ ?(output|message) ?\}\}")

#: Inputs that the agent's tools need as absolute paths.
_PATHS = ("file_path", "notebook_path")

#: A step with its place in the script and how many more times it is repeated.
Due = tuple[str, Step, int]


@dataclass(frozen=True, slots=True)
class ToolCall:
    """A tool call in a reply."""

    name: str
    input: dict[str, Any]


@dataclass(frozen=True, slots=True)
class Reply:
    """One reply of the model. Without a call it ends the agent's turn."""

    text: str | None
    call: ToolCall | None = None
    delay_s: float = 0
    fail: Fail | None = None
    #: Position of the step in its script, for counting its failures.
    step: str = ""
    usage: Usage = field(default_factory=Usage)


def choose_reply(script: Script, conversation: Conversation) -> Reply:
    """Return the reply that is due. The same conversation gets the same reply, so a repeated request is safe.

    When the work is done and is not accepted, the script is played from its beginning again.
    """
    steps = script.on_subagent if conversation.is_subagent else script.steps
    name = "on_subagent" if conversation.is_subagent else "steps"
    due = deque(_places(name, steps))
    for turn, messages in enumerate(conversation.injected):
        if not due and any(message.startswith(NOT_ACCEPTED) for message in messages):
            due.extend(_places(name, steps))
        if not conversation.is_subagent:
            due.extendleft(reversed(list(_answers(script, messages))))
        if turn < conversation.replies and due:
            place, step, left = due.popleft()
            if left > 1:
                due.appendleft((place, step, left - 1))
    if due:
        place, step, _ = due[0]
        return _play(step, place, conversation=conversation, usage=script.usage)
    closing = steps[-1].text if steps else None
    return Reply(text=_fill(closing or DONE, conversation) or DONE, usage=script.usage)


def _answers(script: Script, messages: Iterable[str]) -> Iterator[Due]:
    """Return the steps that messages trigger: those of the first matching `on_message` entry."""
    for message in messages:
        for index, answer in enumerate(script.on_message):
            if answer.match.search(message[:MAX_MATCHED_CHARS]):
                yield from _places(f"on_message[{index}].steps", answer.steps)
                break


def _places(name: str, steps: Iterable[Step]) -> Iterator[Due]:
    return ((f"{name}[{index}]", step, step.repeat) for index, step in enumerate(steps))


def _play(step: Step, place: str, *, conversation: Conversation, usage: Usage) -> Reply:
    call = None
    if step.tool is not None:
        values: dict[str, Any] = _fill(step.input, conversation)
        for key in _PATHS:
            if isinstance(values.get(key), str):
                values[key] = str(PurePosixPath(conversation.workspace, values[key]))
        call = ToolCall(step.tool, values)
    text = _fill(step.text, conversation) if step.text else None
    return Reply(
        text=text or (None if call else DONE), call=call, delay_s=step.delay_s, fail=step.fail, step=place, usage=usage
    )


def _fill(value: Any, conversation: Conversation) -> Any:
    """Insert the last tool result and the last injected message where a script asks for them."""
    if isinstance(value, str):
        known = {"output": conversation.output, "message": conversation.message}
        return _BLANK.sub(lambda blank: known[blank[1]] or "", value)
    if isinstance(value, dict):
        return {key: _fill(item, conversation) for key, item in value.items()}
    if isinstance(value, list):
        return [_fill(item, conversation) for item in value]
    return value
