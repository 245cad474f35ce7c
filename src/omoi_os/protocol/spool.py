"""The worker's spool on disk: a run of frames, each a length, a CRC32 and the event as JSON.

A tail that was torn off in the middle of writing is left out. A damaged frame is refused: the numbers that it held
are known from those around it, and each becomes an event that says so, for nothing beyond a gap is ever stored.
"""

from __future__ import annotations

import json
import zlib
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

from omoi_os.protocol.events import Event, EventSource, EventType
from omoi_os.protocol.frames import HEADER, frame

#: No event is this large; a greater length means that the header is damaged.
MAX_FRAME_BYTES = 64 * 1024 * 1024

#: No event is this small, its header included.
SMALLEST_FRAME = 64

#: The type of a first frame that stands for all events up to its number: they are acknowledged, and forgotten.
FORGOTTEN = "spool.forgotten"

#: How every event begins. Inside of one it cannot occur: there its quotation marks are escaped.
_BEGINNING = b'{"event_type"'


@dataclass(frozen=True, slots=True)
class Stored:
    """A number in the spool and the bytes that hold its event, which is None where they are damaged."""

    seq: int
    start: int
    end: int
    event: Event | None


def encode_frame(event: Event) -> bytes:
    """One event as it is appended to the spool."""
    return frame(json.dumps(event.to_json(), allow_nan=False).encode())


def forgotten(seq: int) -> Event:
    """What stands at the beginning of a spool in place of all events up to this number."""
    return Event(FORGOTTEN, {}, source=EventSource.WORKER, seq=seq)


def damaged(seq: int) -> Event:
    """What is told in place of an event that cannot be read any more."""
    lost = {
        "error": "This event was damaged in the sandbox's spool.",
        "error_type": "unknown",
        "hint": "Its checksum is wrong: something else than the worker wrote there, or the disk is faulty.",
        "spool_corrupt": True,
    }
    return Event(EventType.AGENT_ERROR, lost, source=EventSource.WORKER, seq=seq)


def decode_body(body: bytes, checksum: int) -> Event | None:
    """The event of one frame; None when the bytes are not what was written."""
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
    """Every number of a spool, dense from its first one, with where it lies."""
    following, kept = None, 0
    for start, end, event in _sound_frames(data):
        seq = event.seq
        first = following or (seq if start == 0 else 1)
        # A frame too many, or one whose number cannot be true, for lack of bytes for those before it.
        if type(seq) is not int or type(first) is not int or not 0 <= seq - first <= (start - kept) // SMALLEST_FRAME:
            continue
        for missing in range(first, seq):
            yield Stored(missing, kept, start if missing == seq - 1 else kept, None)
        yield Stored(seq, start, end, event)
        following, kept = seq + 1, end
    # What is whole and yet not what was written has used its number up.
    for seq, end in enumerate(_whole_frames(data, kept), following or 1):
        yield Stored(seq, kept, end, None)
        kept = end


def read_frames(data: bytes) -> list[Event]:
    """The events of a spool, in order."""
    return [
        stored.event or damaged(stored.seq)
        for stored in walk(data)
        if stored.event is None or stored.event.event_type != FORGOTTEN
    ]


def _sound_frames(data: bytes) -> Iterator[tuple[int, int, Event]]:
    """Each frame that is what was written, with where it begins and ends."""
    start = 0
    # Whoever damaged it may have written what looks like many long frames.
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
    """The ends of the frames that follow each other from here, sound or not, up to a torn one."""
    while start + SMALLEST_FRAME <= len(data):
        length, _ = HEADER.unpack_from(data, start)
        start += HEADER.size + length
        if start > len(data) or HEADER.size + length < SMALLEST_FRAME:
            return
        yield start
