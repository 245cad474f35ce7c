"""Changes and events as one line of JSON each, written once for all who receive them."""

import json
import re
from datetime import UTC, datetime
from typing import Any, Protocol

from omoi_os.protocol.events import KNOWN_TYPES
from omoi_os.stream.position import Position

#: Not ASCII, and not to be sent as it is: what some programs take for the end of a line, control characters, and
#: marks that turn the direction of text. In JSON they can only stand inside strings.
_UNSAFE = re.compile(r"[\x7f-\x9f\u061c\u200e\u200f\u2028-\u202e\u2066-\u2069]")


class StoredEvent(Protocol):
    """A row of a sandbox's events with its data as it is stored."""

    seq: int
    event_id: str
    event_type: str
    body: str
    source: str
    occurred_at: datetime
    created_at: datetime


def one_line(stored: str) -> str:
    """Stored JSON as one line that no reader can take for more. Between its tokens an end of line is only space."""
    line = stored.replace("\n", " ").replace("\r", " ")
    if _UNSAFE.search(line) is None:
        return line
    # One pass for each of a few characters, not one call for each place where one of them is.
    for character in set(_UNSAFE.findall(line)):
        line = line.replace(character, f"\\u{ord(character):04x}")
    return line


def moment(value: datetime) -> str:
    """A time as the rest of the API writes it."""
    return value.astimezone(UTC).isoformat().replace("+00:00", "Z")


def event_line(row: StoredEvent) -> str:
    """One event as `GET …/events` shows it."""
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
    """One item of the stream; `data` is JSON already."""
    written = json.dumps({"id": str(position), **head})
    return f'{written[:-1]}, "data": {data}}}'


def control_line(kind: str, **fields: Any) -> str:
    """What the stream says of itself."""
    return json.dumps({"type": kind, **fields})


def text_frame(line: str) -> bytes:
    """A WebSocket frame as a server sends it (RFC 6455): unmasked text, whole."""
    payload = line.encode(errors="replace")
    size = len(payload)
    if size < 126:
        return bytes((0x81, size)) + payload
    if size < 1 << 16:
        return b"\x81\x7e" + size.to_bytes(2, "big") + payload
    return b"\x81\x7f" + size.to_bytes(8, "big") + payload
