"""The spool: every numbered event is on disk before it is sent, until it is acknowledged."""

from __future__ import annotations

import asyncio
import contextlib
import os
from array import array
from dataclasses import replace
from pathlib import Path

from omoi_os.protocol.events import Event
from omoi_os.protocol.frames import HEADER
from omoi_os.protocol.spool import FORGOTTEN, damaged, decode_body, encode_frame, forgotten, walk


class Spool:
    """An append-only file of events, numbered densely from 1. The first `acked` may be removed.

    Only offsets are kept in memory, so an outage costs disk space alone. A frame that a full disk refuses, and all
    after it, are held in memory, so that the worker can still report the full disk. `SpoolLimit` keeps them few.
    """

    def __init__(self, path: Path) -> None:
        """Open the file and drop an incomplete tail. Events of an earlier worker are sent again."""
        path.parent.mkdir(parents=True, exist_ok=True, mode=0o700)
        self._file = os.open(path, os.O_RDWR | os.O_CREAT | os.O_CLOEXEC | os.O_NOFOLLOW, 0o600)
        #: The number before the first event, and the start of each event; the last entry is the end of the file.
        self._base = 0
        self._ends = array("Q", [0])
        self._load(os.pread(self._file, os.fstat(self._file).st_size, 0))
        os.ftruncate(self._file, self._ends[-1])
        self._held: list[bytes] = []
        #: Whether the first frame says which number the file continues from.
        self._marked = True
        self._dirty = False
        self._changed = asyncio.Event()
        self.acked = self._base

    def _load(self, data: bytes) -> None:
        for number, stored in enumerate(walk(data)):
            if number == 0:
                is_mark = stored.event is not None and stored.event.event_type == FORGOTTEN
                self._base = stored.seq if is_mark else stored.seq - 1
                self._ends[0] = stored.end if is_mark else stored.start
                if is_mark:
                    continue
            self._ends.append(stored.end)

    @property
    def last(self) -> int:
        """The number of the newest event."""
        return self._base + len(self._ends) - 1 + len(self._held)

    @property
    def waiting(self) -> int:
        """The number of unacknowledged events."""
        return self.last - self.acked

    @property
    def size(self) -> int:
        """The size of the file in bytes."""
        return self._ends[-1]

    def append(self, event: Event) -> int:
        """Number the event, write it and return the number. `sync` flushes it before it is sent."""
        seq = self.last + 1
        frame = encode_frame(replace(event, seq=seq))
        if not (self.settle() and self._write(frame)):
            self._held.append(frame)
        self._changed.set()
        return seq

    def settle(self) -> bool:
        """Write frames that are held in memory. Return whether all of them are in the file now."""
        while self._held and self._write(self._held[0]):
            del self._held[0]
        return not self._held

    def forget(self) -> None:
        """Free the disk space if everything is acknowledged. This needs no space: the file's start is overwritten."""
        if not self.waiting:
            self._base, self._held, self._marked = self.last, [], False
            self._ends = array("Q", [self._ends[-1]])
            self._mark()

    def _mark(self) -> bool:
        """Write the number that the file continues from as its first frame. A reader ignores what is left after it."""
        mark = encode_frame(forgotten(self._base))
        try:
            if os.pwrite(self._file, mark, 0) != len(mark):
                return False
            os.ftruncate(self._file, len(mark))
        except OSError:
            return False
        self._ends[0] = len(mark)
        self._marked = self._dirty = True
        return True

    def _write(self, frame: bytes) -> bool:
        if not self._marked and not self._mark():
            return False
        start = self._ends[-1]
        with contextlib.suppress(OSError):
            if os.pwrite(self._file, frame, start) == len(frame):
                self._ends.append(start + len(frame))
                self._dirty = True
                return True
        os.ftruncate(self._file, start)
        return False

    def batch(self, *, max_events: int, max_bytes: int) -> list[Event]:
        """Return the oldest unacknowledged events: at least one if there is any, then as many as fit."""
        events: list[Event] = []
        size = 0
        for seq in range(self.acked + 1, min(self.last, self.acked + max_events) + 1):
            frame = self._read(seq - self._base)
            size += len(frame)
            if events and size > max_bytes:
                break
            event = _decode(frame)
            events.append(event if event and event.seq == seq else damaged(seq))
        return events

    def _read(self, place: int) -> bytes:
        if place >= len(self._ends):
            return self._held[place - len(self._ends)]
        start = self._ends[place - 1]
        return os.pread(self._file, self._ends[place] - start, start)

    def acknowledge(self, last_seq: int) -> None:
        """Note the last number that the server has. A lower one than before means that it wants the rest again."""
        self.acked = max(self._base, min(last_seq, self.last))
        self._changed.set()

    async def sync(self) -> None:
        """Flush appended events to disk, without blocking the event loop."""
        if self._dirty:
            self._dirty = False
            await asyncio.to_thread(os.fdatasync, self._file)

    async def wait_for_events(self) -> None:
        """Return when an event waits to be sent."""
        while not self.waiting:
            await self._change()

    async def wait_for_bulk(self, *, events: int, size: int, seconds: float) -> None:
        """Return when this many events or bytes wait to be sent, or after the timeout."""
        with contextlib.suppress(TimeoutError):
            async with asyncio.timeout(seconds):
                while self.waiting < events and self.size - self._sent_bytes() < size:
                    await self._change()

    def _sent_bytes(self) -> int:
        return self._ends[min(self.acked - self._base, len(self._ends) - 1)]

    async def wait_for_change(self, *, seconds: float) -> None:
        """Return when an event is appended or acknowledged, or after the timeout."""
        with contextlib.suppress(TimeoutError):
            async with asyncio.timeout(seconds):
                await self._change()

    async def wait_until_empty(self) -> None:
        """Return when everything is acknowledged."""
        while self.waiting:
            await self._change()

    async def _change(self) -> None:
        self._changed.clear()
        await self._changed.wait()

    def close(self) -> None:
        """Close the file."""
        os.close(self._file)


def _decode(frame: bytes) -> Event | None:
    if len(frame) < HEADER.size:
        return None
    return decode_body(frame[HEADER.size :], HEADER.unpack_from(frame)[1])
