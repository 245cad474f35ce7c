"""Read the conversation so far from a request to the model.

The agent's CLI adds its own notes: in `<system-reminder>` blocks inside the user's turns, or, for models that
it does not know, in turns whose role is `system`. Messages sent to a working agent travel in these notes.
"""

import re
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import Any

from omoi_os.protocol.messages import contents
from omoi_os.protocol.paths import WORKSPACE

_OPEN, _CLOSE = "<system-reminder>", "</system-reminder>"

#: The start of a note with a message: one sent to the CLI, or one that a hook adds to a tool's result.
_HANDED_OVER = re.compile(
    r"(?m)^(?:The user sent a new message while you were working:\n"
    r"|(?:Pre|Post)ToolUse(?:Failure)?(?::\S{1,100})? hook additional context: )"
)
_HANDED_OVER_END = "\n\nThis is how Claude Code surfaces messages"

#: Texts in the user's turns that no user sent: an interrupt's mark and the body of a skill.
_NOT_SENT = ("[Request interrupted by user", "Base directory for this skill:")

#: The result that a resumed session inserts for a call whose real result was lost.
_LOST_RESULT = "[Tool call interrupted:"

#: A reply that a resumed session inserts for the model.
_MADE_UP_REPLY = "No response requested."

_WORKING_DIRECTORY = "Primary working directory: "
_SUBAGENT = "cc_is_subagent=true"


@dataclass(frozen=True, slots=True)
class Conversation:
    """The conversation so far, without the notes that the agent's CLI adds for the model."""

    prompt: str
    #: Messages before each reply; the last group is before the reply that is due now.
    injected: tuple[tuple[str, ...], ...] = ((),)
    #: The last tool result, `None` before the first.
    output: str | None = None
    workspace: str = WORKSPACE
    is_subagent: bool = False

    @property
    def replies(self) -> int:
        """Return the number of replies whose effect is known."""
        return len(self.injected) - 1

    @property
    def message(self) -> str | None:
        """Return the last message after the prompt."""
        return next((group[-1] for group in reversed(self.injected) if group), None)


def read_conversation(request: Mapping[str, Any], *, is_subagent: bool = False) -> Conversation:
    """Read the body of a request to `/v1/messages`, ignoring unknown parts."""
    messages = [message for message in _list(request.get("messages")) if isinstance(message, dict)]
    lost = _lost_calls(messages)
    prompt: str | None = None
    injected: list[list[str]] = [[]]
    output: str | None = None
    for message in messages:
        role = message.get("role")
        if role == "assistant":
            if _was_played(message, lost):
                injected.append([])
            continue
        for block in _blocks(message):
            said, notes = split_notes(_text(block)) if role == "user" else ("", [_text(block)])
            injected[-1].extend(text for note in notes for text in handed_over(note))
            if block.get("type") == "tool_result":
                output = said
            elif said and not said.startswith(_NOT_SENT):
                if prompt is None:
                    prompt = said
                else:
                    injected[-1].extend(contents(said))
    system = [_text(block) for block in _blocks({"content": request.get("system")})]
    return Conversation(
        prompt=prompt or "",
        injected=tuple(tuple(group) for group in injected),
        output=output,
        workspace=_find_workspace([*system, *(_text(block) for message in messages[:4] for block in _blocks(message))]),
        is_subagent=is_subagent or any(_SUBAGENT in text for text in system),
    )


def split_notes(text: str) -> tuple[str, list[str]]:
    """Return a text without its `<system-reminder>` blocks, and the texts of these blocks."""
    head, *pieces = text.split(_OPEN)
    said, notes = [head], []
    for piece in pieces:
        note, closed, rest = piece.partition(_CLOSE)
        if closed:
            notes.append(note.strip())
        said.append(rest if closed else _OPEN + piece)
    return "".join(said).strip(), notes


def handed_over(note: str) -> list[str]:
    """Return the messages in a note of the CLI, without the platform's marks."""
    pieces = [piece.partition(_HANDED_OVER_END)[0].strip() for piece in _HANDED_OVER.split(note)[1:]]
    return [message for piece in pieces for message in contents(piece)]


def _was_played(message: Mapping[str, Any], lost: set[str]) -> bool:
    """Ignore inserted results and replies, so that a call whose result was lost is played again."""
    blocks = _blocks(message)
    calls = [block for block in blocks if block.get("type") == "tool_use"]
    if calls:
        return not any(str(block.get("id")) in lost for block in calls)
    return "".join(_text(block) for block in blocks).strip() != _MADE_UP_REPLY


def _lost_calls(messages: Iterable[Mapping[str, Any]]) -> set[str]:
    results = [block for message in messages for block in _blocks(message) if block.get("type") == "tool_result"]
    return {str(block.get("tool_use_id")) for block in results if _text(block).startswith(_LOST_RESULT)}


def _find_workspace(texts: Iterable[str]) -> str:
    for text in texts:
        _, found, rest = text.partition(_WORKING_DIRECTORY)
        if found and (path := rest.partition("\n")[0].strip()).startswith("/"):
            return path
    return WORKSPACE


def _list(value: object) -> list[Any]:
    return value if isinstance(value, list) else []


def _blocks(message: Mapping[str, Any]) -> list[dict[str, Any]]:
    """Return the blocks of a content that is a string or a list."""
    content = message.get("content")
    if isinstance(content, str):
        return [{"type": "text", "text": content}]
    return [block for block in _list(content) if isinstance(block, dict)]


def _text(block: Mapping[str, Any]) -> str:
    if block.get("type") == "tool_result":
        return "\n\n".join(_text(inner) for inner in _blocks(block) if inner.get("type") == "text")
    text = block.get("text")
    return text if isinstance(text, str) else ""
