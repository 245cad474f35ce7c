"""The worker's spool on disk: a run of frames, each a length, a CRC32 and the event as JSON."""

from __future__ import annotations

import json
import zlib
from collections.abc import Iterator
from typing import Any

from omoi_os.protocol.events import Event
from omoi_os.protocol.frames import HEADER, frame

#: No event is this large; a greater length means that the header is damaged.
MAX_FRAME_BYTES = 64 * 1024 * 1024


def encode_frame(event: Event) -> bytes:
    """One event as it is appended to the spool."""
    return frame(json.dumps(event.to_json(), allow_nan=False).encode())


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


def walk_frames(data: bytes) -> Iterator[tuple[int, Event]]:
    """Each whole frame with the offset of its end; stops at a torn tail or a damaged frame."""
    start = 0
    while start + HEADER.size <= len(data):
        length, checksum = HEADER.unpack_from(data, start)
        end = start + HEADER.size + length
        if length > MAX_FRAME_BYTES or end > len(data):
            return
        event = decode_body(data[start + HEADER.size : end], checksum)
        if event is None:
            return
        yield end, event
        start = end


def read_frames(data: bytes) -> list[Event]:
    """The events of a spool, in order. A torn tail is left out, and nothing after a damaged frame is trusted."""
    return [event for _, event in walk_frames(data)]
