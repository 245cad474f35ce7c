"""Writes changes and events as one line of JSON each, once for all clients."""

import json
import re
from datetime import UTC, datetime
from typing import Any, Protocol

from omoi_os.protocol.events import KNOWN_TYPES
from omoi_os.stream.position import Position

#: Characters that are escaped: those that some programs treat as the end of a line, control characters, and marks that
#: change the direction of text. In JSON they can occur only inside strings.
_UNSAFE = re.compile(r"[\x7f-\x9f\u061c\u200e\u200f\u2028-\u202e\u2066-\u2069]")


class StoredEvent(Protocol):
    """A row of `sandbox_events` with its data as text."""

    seq: int
    event_id: str
    event_type: str
    body: str
    source: str
    occurred_at: datetime
    created_at: datetime


def one_line(stored: str) -> str:
    """Return stored JSON as one line. Line ends between its tokens are white space."""
    line = stored.replace("\n", " ").replace("\r", " ")
    if _UNSAFE.search(line) is None:
        return line
    # One pass for each of the few characters is faster than one call for each occurrence.
    for character in set(_UNSAFE.findall(line)):
        line = line.replace(character, f"\\u{ord(character):04x}")
    return line


def moment(value: datetime) -> str:
    """Format a time as the rest of the API does."""
    return value.astimezone(UTC).isoformat().replace("+00:00", "Z")


def event_line(row: StoredEvent) -> str:
    """Return an event as `GET …/events` shows it."""
    head = json.dumps({"event_id": row.event_id, "seq": row.seq, "event_type": row.event_type})
    tail = json.dumps(
        {
            "source": row.source,
            "occurred_at": moment(row.occurred_at),
            "created_at": moment(row.created_at),
            "known": row.event_type in KNOWN_TYPES,
        }
    )
    return f'{head[:-1]}, "event_data": {one_line(row.body)}, {tail[1:]}'


def item_line(position: Position, *, head: dict[str, Any], data: str) -> str:
    """Return an item of the stream; `data` is JSON text."""
    written = json.dumps({"id": str(position), **head})
    return f'{written[:-1]}, "data": {data}}}'


def control_line(kind: str, **fields: Any) -> str:
    """Return a line about the stream itself."""
    return json.dumps({"type": kind, **fields})


def text_frame(line: str) -> bytes:
    """Return an unmasked, unfragmented WebSocket text frame (RFC 6455)."""
    payload = line.encode(errors="replace")
    size = len(payload)
    if size < 126:
        return bytes((0x81, size)) + payload
    if size < 1 << 16:
        return b"\x81\x7e" + size.to_bytes(2, "big") + payload
    return b"\x81\x7f" + size.to_bytes(8, "big") + payload
