"""Messages to a working agent, and the marks that identify them in a request to the model."""

from __future__ import annotations

import json
import re
from dataclasses import dataclass, fields
from enum import StrEnum
from typing import Any


class MessageType(StrEnum):
    """The kind of a message. An administrator may send any of them."""

    USER_MESSAGE = "user_message"  #: from a person
    INTERRUPT = "interrupt"  #: from a person, to stop the current turn
    GUARDIAN_NUDGE = "guardian_nudge"  #: from the guardian, to steer the agent
    SYSTEM = "system"  #: from the platform
    COLLABORATION = "collaboration"  #: from another agent of the same project


class Deliver(StrEnum):
    """When a message reaches the agent."""

    NEXT_TOOL = "next_tool"  #: at the next tool boundary of the turn
    NOW = "now"  #: at once: the current turn is stopped
    END_OF_TURN = "end_of_turn"  #: after the turn, as a new one


@dataclass(frozen=True, slots=True)
class Message:
    """One message, as `GET …/messages` returns it to the worker."""

    message_id: str
    message_type: str
    content: str
    deliver: str
    #: `user:<email>`, `agent:<sandbox id>`, or the name of a platform component.
    sender: str

    @classmethod
    def from_json(cls, raw: Any) -> Message:
        """Read one item of the answer. Unknown fields are ignored. Raises `ValueError`."""
        names = [field.name for field in fields(cls)]
        if not isinstance(raw, dict) or not all(isinstance(raw.get(name), str) for name in names):
            raise ValueError("not a message")
        return cls(**{name: raw[name] for name in names})

    def injected(self) -> dict[str, Any]:
        """Return the data of the `agent.message_injected` event that reports its delivery."""
        return {
            "message_id": self.message_id,
            "message_type": self.message_type,
            "content": self.content,
            "sender": self.sender,
        }

    def marked(self) -> str:
        """Return the text for the agent: the content between two marks with the message's id.

        The author of the content does not know the id, so content can neither end early nor imitate another message.
        """
        sender = _UNSAFE.sub("?", self.sender)[:_MAX_SENDER]
        begin = f"[message {self.message_id} {self.message_type} from {sender}]"
        return f"{begin}\n{self.content}\n{_end(self.message_id)}"


_MAX_SENDER = 300
_UNSAFE = re.compile(r"[^\w@.:+-]", re.ASCII)
_ID = r"[0-9a-f]{8}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{12}"
_MARK = re.compile(rf"\[message ({_ID}) \w{{1,40}} from [\w@.:+?-]{{1,{_MAX_SENDER}}}\]\n", re.ASCII)
_MARK_IN_JSON = re.compile(rf"\[message ({_ID}) ".encode())
_MARK_START = b"[message "


def _end(message_id: str) -> str:
    return f"[end of message {message_id}]"


def contents(text: str) -> list[str]:
    """Return the contents of the marked messages in a text, in order. A text without a mark is one message."""
    found, position = [], 0
    while mark := _MARK.search(text, position):
        end = text.find(f"\n{_end(mark[1])}", mark.end())
        # The text was cut before the end mark: the rest is the message.
        position = len(text) if end < 0 else end
        found.append(text[mark.end() : position])
    return found or [text]


def ids_in(body: bytes) -> set[str]:
    """Return the ids of the messages whose marks are in a request to the model. Fast if there are none."""
    if _MARK_START not in body:
        return set()
    return {match[1].decode() for match in _MARK_IN_JSON.finditer(body)}


#: The kinds of transcript lines that a resumed conversation consists of. Others repeat queued texts or requests.
_CONVERSATION = frozenset({"user", "attachment"})


def ids_in_conversation(lines: bytes) -> set[str]:
    """Return the ids of the messages that a conversation carries, as the agent's CLI saves it, one JSON value a line.

    A line that is damaged, or that does not belong to the agent's own conversation, carries none.
    """
    return {found for line in lines.split(b"\n") if _MARK_START in line for found in _ids_in_line(line)}


def _ids_in_line(line: bytes) -> set[str]:
    try:
        entry = json.loads(line)
    except (ValueError, RecursionError):
        return set()
    if not isinstance(entry, dict) or entry.get("isSidechain") is True or not isinstance(entry.get("uuid"), str):
        return set()
    return ids_in(line) if entry.get("type") in _CONVERSATION else set()
