"""The worker's spool on disk: a sequence of frames, each a length, a CRC32 and the event as JSON.

An incomplete frame at the end is ignored. A damaged frame is replaced: its number is known from the frames around it,
and becomes an event that reports the damage, because the platform stores nothing beyond a gap.
"""

from __future__ import annotations

import json
import zlib
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

from omoi_os.protocol.events import Event, EventSource, EventType
from omoi_os.protocol.frames import HEADER, frame

#: Larger than any event; a greater length means that the header is damaged.
MAX_FRAME_BYTES = 64 * 1024 * 1024

#: Smaller than any event, including its header.
SMALLEST_FRAME = 64

#: The type of a first frame that replaces all events up to its number, which are acknowledged.
FORGOTTEN = "spool.forgotten"

#: The start of every event. It cannot occur inside one, where quotation marks are escaped.
_BEGINNING = b'{"event_type"'


@dataclass(frozen=True, slots=True)
class Stored:
    """A number in the spool, the position of its event, and the event, or None if it is damaged."""

    seq: int
    start: int
    end: int
    event: Event | None


def encode_frame(event: Event) -> bytes:
    """Return the frame of an event."""
    return frame(json.dumps(event.to_json(), allow_nan=False).encode())


def forgotten(seq: int) -> Event:
    """Return the first frame's event of a spool from which all events up to this number were removed."""
    return Event(FORGOTTEN, {}, source=EventSource.WORKER, seq=seq)


def damaged(seq: int) -> Event:
    """Return the event that replaces a damaged one."""
    lost = {
        "error": "This event was damaged in the sandbox's spool.",
        "error_type": "unknown",
        "hint": "Its checksum is wrong: another process wrote to the spool, or the disk is faulty.",
        "spool_corrupt": True,
    }
    return Event(EventType.AGENT_ERROR, lost, source=EventSource.WORKER, seq=seq)


def decode_body(body: bytes, checksum: int) -> Event | None:
    """Return the event of one frame, or None if its bytes are damaged."""
    if zlib.crc32(body) != checksum:
        return None
    try:
        raw: Any = json.loads(body)
    except (ValueError, RecursionError):
        return None
    if not isinstance(raw, dict) or not isinstance(raw.get("event_data"), dict):
        return None
    return Event(
        event_type=str(raw.get("event_type", "")),
        event_data=raw["event_data"],
        source=str(raw.get("source", "")),
        event_id=raw.get("event_id"),
        seq=raw.get("seq"),
        occurred_at=raw.get("occurred_at"),
    )


def walk(data: bytes) -> Iterator[Stored]:
    """Yield every number of a spool, dense from the first, with its position."""
    following, kept = None, 0
    for start, end, event in _sound_frames(data):
        seq = event.seq
        first = following or (seq if start == 0 else 1)
        # Skip a repeated frame, or one whose number would need more bytes before it than there are.
        if type(seq) is not int or type(first) is not int or not 0 <= seq - first <= (start - kept) // SMALLEST_FRAME:
            continue
        for missing in range(first, seq):
            yield Stored(missing, kept, start if missing == seq - 1 else kept, None)
        yield Stored(seq, start, end, event)
        following, kept = seq + 1, end
    # A complete frame that is damaged has used its number.
    for seq, end in enumerate(_whole_frames(data, kept), following or 1):
        yield Stored(seq, kept, end, None)
        kept = end


def read_frames(data: bytes) -> list[Event]:
    """Return the events of a spool, in order."""
    return [
        stored.event or damaged(stored.seq)
        for stored in walk(data)
        if stored.event is None or stored.event.event_type != FORGOTTEN
    ]


def _sound_frames(data: bytes) -> Iterator[tuple[int, int, Event]]:
    """Yield each undamaged frame with its start and end."""
    start = 0
    # The damage may look like many long frames; do not check the same bytes again and again.
    left_to_check = 2 * len(data)
    while start + HEADER.size <= len(data):
        length, checksum = HEADER.unpack_from(data, start)
        end = start + HEADER.size + length
        event = None
        if length <= MAX_FRAME_BYTES and end <= len(data) and left_to_check > 0:
            left_to_check -= length
            event = decode_body(data[start + HEADER.size : end], checksum)
        if event is None:
            beginning = data.find(_BEGINNING, start + HEADER.size + 1)
            if beginning < 0:
                return
            start = beginning - HEADER.size
            continue
        yield start, end, event
        start = end


def _whole_frames(data: bytes, start: int) -> Iterator[int]:
    """Yield the ends of the frames that follow each other from here, damaged or not, up to an incomplete one."""
    while start + SMALLEST_FRAME <= len(data):
        length, _ = HEADER.unpack_from(data, start)
        start += HEADER.size + length
        if start > len(data) or HEADER.size + length < SMALLEST_FRAME:
            return
        yield start
