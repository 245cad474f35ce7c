"""The spool: every numbered event is on disk before it is sent, and stays there until the sandbox goes."""

from __future__ import annotations

import asyncio
import os
from array import array
from dataclasses import replace
from pathlib import Path

from omoi_os.protocol.events import Event, EventSource, EventType
from omoi_os.protocol.frames import HEADER
from omoi_os.protocol.spool import decode_body, encode_frame, walk_frames


class Spool:
    """An append-only file of events, numbered densely from 1, of which the first `acked` may be forgotten.

    Only offsets are kept in memory, so an outage of any length costs disk alone. A frame that the disk refuses
    is held in memory instead: a full disk must not silence the worker that would report it.
    """

    def __init__(self, path: Path) -> None:
        """Open the file, dropping a torn tail. What an earlier worker left is sent again: the server knows doubles."""
        path.parent.mkdir(parents=True, exist_ok=True, mode=0o700)
        self._file = os.open(path, os.O_RDWR | os.O_CREAT | os.O_CLOEXEC | os.O_NOFOLLOW, 0o600)
        self._ends = array("Q", [0])
        for end, _ in walk_frames(os.pread(self._file, os.fstat(self._file).st_size, 0)):
            self._ends.append(end)
        os.ftruncate(self._file, self._ends[-1])
        self._held: dict[int, bytes] = {}
        self._dirty = False
        self._changed = asyncio.Event()
        self.acked = 0

    @property
    def last(self) -> int:
        """The number of the newest event."""
        return len(self._ends) - 1

    @property
    def waiting(self) -> int:
        """How many events are not acknowledged yet."""
        return self.last - self.acked

    def append(self, event: Event) -> int:
        """Number the event and write it; the flush to disk comes with `sync`, before it is sent."""
        seq = self.last + 1
        frame = encode_frame(replace(event, seq=seq))
        start = self._ends[-1]
        try:
            if os.pwrite(self._file, frame, start) != len(frame):
                raise OSError("short write")
            self._ends.append(start + len(frame))
            self._dirty = True
        except OSError:
            os.ftruncate(self._file, start)
            self._held[seq] = frame
            self._ends.append(start)
        self._changed.set()
        return seq

    def batch(self, *, max_events: int, max_bytes: int) -> list[Event]:
        """The oldest events that are not acknowledged: at least one if there is any, then as many as fit."""
        events: list[Event] = []
        size = 0
        for seq in range(self.acked + 1, min(self.last, self.acked + max_events) + 1):
            size += self._ends[seq] - self._ends[seq - 1]
            if events and size > max_bytes:
                break
            events.append(self._read(seq))
        return events

    def _read(self, seq: int) -> Event:
        start = self._ends[seq - 1]
        frame = self._held.get(seq) or os.pread(self._file, self._ends[seq] - start, start)
        event = None
        if len(frame) >= HEADER.size:
            event = decode_body(frame[HEADER.size :], HEADER.unpack_from(frame)[1])
        if event is None or event.seq != seq:
            lost = {"error": "This event was damaged in the sandbox's spool.", "error_type": "unknown", "hint": ""}
            return Event(EventType.AGENT_ERROR, lost, source=EventSource.WORKER, seq=seq)
        return event

    def acknowledge(self, last_seq: int) -> None:
        """Forget up to this number. A lower one than before means that the server wants the rest again."""
        self.acked = max(0, min(last_seq, self.last))
        for seq in [seq for seq in self._held if seq <= self.acked]:
            del self._held[seq]
        self._changed.set()

    async def sync(self) -> None:
        """Make what was appended safe against a crash of the machine, beside the event loop."""
        if self._dirty:
            self._dirty = False
            await asyncio.to_thread(os.fdatasync, self._file)

    async def wait_for_events(self) -> None:
        """Return when something waits to be sent."""
        while not self.waiting:
            self._changed.clear()
            await self._changed.wait()

    async def wait_until_empty(self) -> None:
        """Return when everything is acknowledged."""
        while self.waiting:
            self._changed.clear()
            await self._changed.wait()

    def close(self) -> None:
        """Close the file."""
        os.close(self._file)
