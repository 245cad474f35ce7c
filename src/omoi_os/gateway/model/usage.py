"""Reads what a model call used out of its answer, while the answer passes by."""

import json
from collections.abc import Mapping
from typing import Any

from omoi_os.gateway.model.prices import Usage

#: The events that are read are far shorter; of a longer line only the fact that it passed is known.
_MAX_LINE_BYTES = 1 << 20

#: Of text that was streamed and never counted by the model's host, so many characters are taken for a token.
_CHARACTERS_PER_TOKEN = 4

_TEXTS = ("text", "thinking", "partial_json")

_FIELDS = {
    "input_tokens": "input_tokens",
    "output_tokens": "output_tokens",
    "cache_creation_input_tokens": "cache_write_tokens",
    "cache_read_input_tokens": "cache_read_tokens",
}


class UsageReader:
    """Follows one answer, streamed or not, holding at most one line of it."""

    def __init__(self, model: str = "") -> None:
        self.model = model
        #: The answer has said what was put in.
        self.started = False
        #: The answer has said all that it will.
        self.finished = False
        self._counts: dict[str, int] = {}
        self._characters = 0
        self._line = bytearray()

    @property
    def usage(self) -> Usage:
        """What is known so far. A stream that was cut before its final count is charged for what it brought."""
        counts = dict(self._counts)
        if not self.finished:
            streamed = -(-self._characters // _CHARACTERS_PER_TOKEN)
            counts["output_tokens"] = max(counts.get("output_tokens", 0), streamed)
        return Usage(**counts)

    def feed(self, chunk: bytes) -> None:
        """Take the next piece of an event stream."""
        *lines, rest = chunk.split(b"\n")
        for line in lines:
            self._extend(line)
            self._read_line(bytes(self._line))
            self._line.clear()
        self._extend(rest)

    def read_message(self, body: bytes) -> None:
        """Take a whole answer that was not streamed."""
        message = _object(body)
        self._see_message(message)
        self.finished = True

    def _extend(self, piece: bytes) -> None:
        self._line += piece[: _MAX_LINE_BYTES - len(self._line)]

    def _read_line(self, line: bytes) -> None:
        if not line.startswith(b"data:"):
            return
        event = _object(line[len(b"data:") :])
        match event.get("type"):
            case "message_start":
                self._see_message(event.get("message"))
            case "content_block_delta" if isinstance(event.get("delta"), dict):
                pieces = (event["delta"].get(name) for name in _TEXTS)
                self._characters += sum(len(piece) for piece in pieces if isinstance(piece, str))
            case "message_delta":
                self._see_usage(event.get("usage"))
            case "message_stop":
                self.finished = True

    def _see_message(self, message: object) -> None:
        if not isinstance(message, dict):
            return
        self.started = True
        if isinstance(message.get("model"), str):
            self.model = message["model"]
        self._see_usage(message.get("usage"))

    def _see_usage(self, usage: object) -> None:
        """Counts in a stream are running totals, so the newest one stands."""
        if not isinstance(usage, Mapping):
            return
        for name, field in _FIELDS.items():
            count = usage.get(name)
            if isinstance(count, int) and count >= 0:
                self._counts[field] = count


def _object(raw: bytes) -> dict[str, Any]:
    try:
        value = json.loads(raw)
    except (ValueError, RecursionError):
        return {}
    return value if isinstance(value, dict) else {}
