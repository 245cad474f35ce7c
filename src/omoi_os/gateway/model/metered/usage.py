"""Reads the usage of a model call from its answer, streamed or not."""

import json
from collections.abc import Mapping
from typing import Any

from omoi_os.gateway.model.metered.prices import Usage

#: Lines with usage are far shorter. The rest of a longer line is ignored.
_MAX_LINE_BYTES = 1 << 20

#: Estimate for text that was streamed but not counted because the stream broke.
_CHARACTERS_PER_TOKEN = 4

_TEXTS = ("text", "thinking", "partial_json")

_FIELDS = {
    "input_tokens": "input_tokens",
    "output_tokens": "output_tokens",
    "cache_creation_input_tokens": "cache_write_tokens",
    "cache_read_input_tokens": "cache_read_tokens",
}


class UsageReader:
    """Reads one answer, keeping at most one line in memory."""

    def __init__(self, model: str = "") -> None:
        self.model = model
        #: The usage of the input is known.
        self.started = False
        #: The answer is complete.
        self.finished = False
        self._counts: dict[str, int] = {}
        self._characters = 0
        self._line = bytearray()

    @property
    def usage(self) -> Usage:
        """Return the usage so far. A stream that broke before its final count is charged for the text received."""
        counts = dict(self._counts)
        if not self.finished:
            streamed = -(-self._characters // _CHARACTERS_PER_TOKEN)
            counts["output_tokens"] = max(counts.get("output_tokens", 0), streamed)
        return Usage(**counts)

    def feed(self, chunk: bytes) -> None:
        """Read the next chunk of an event stream."""
        *lines, rest = chunk.split(b"\n")
        for line in lines:
            self._extend(line)
            self._read_line(bytes(self._line))
            self._line.clear()
        self._extend(rest)

    def read_message(self, body: bytes) -> None:
        """Read a whole answer that was not streamed."""
        message = _object(body)
        self._read_start(message)
        self.finished = True

    def _extend(self, piece: bytes) -> None:
        self._line += piece[: _MAX_LINE_BYTES - len(self._line)]

    def _read_line(self, line: bytes) -> None:
        if not line.startswith(b"data:"):
            return
        event = _object(line[len(b"data:") :])
        match event.get("type"):
            case "message_start":
                self._read_start(event.get("message"))
            case "content_block_delta" if isinstance(event.get("delta"), dict):
                pieces = (event["delta"].get(name) for name in _TEXTS)
                self._characters += sum(len(piece) for piece in pieces if isinstance(piece, str))
            case "message_delta":
                self._read_usage(event.get("usage"))
            case "message_stop":
                self.finished = True

    def _read_start(self, message: object) -> None:
        if not isinstance(message, dict):
            return
        self.started = True
        if isinstance(message.get("model"), str):
            self.model = message["model"]
        self._read_usage(message.get("usage"))

    def _read_usage(self, usage: object) -> None:
        """Store the counts. In a stream they are running totals, so the last one is right."""
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
