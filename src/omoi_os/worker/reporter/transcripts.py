"""Save the agent's transcript turn by turn, so that another sandbox can resume the conversation."""

from __future__ import annotations

import asyncio
import os
import time
from dataclasses import dataclass
from pathlib import Path
from typing import BinaryIO, NoReturn

from omoi_os.worker.agents.base import AgentDriver
from omoi_os.worker.paths import WorkerPaths
from omoi_os.worker.reporter.api import Api
from omoi_os.worker.reporter.http import CHUNK_BYTES, FilePart, HttpError

TIMEOUT_SECONDS = 60.0

#: An agent writes a turn a moment after it reports it. Turns that follow closely are saved together.
SETTLE_SECONDS = 0.3
#: On a busy machine that moment is longer, so the file is checked once more after the last turn.
LATE_SECONDS = 2.0
#: The largest share of the time that is spent on saving.
SHARE = 0.25
RETRY_SECONDS = 5.0

#: The most that one request sends, unless a single line is longer.
PART_BYTES = 8 * 1024 * 1024

#: How much of the end of the saved part is compared to detect that the file was rewritten.
TAIL_BYTES = 4096


@dataclass(frozen=True, slots=True)
class SavedPart:
    """The part of a session that the server has: its size and its last bytes."""

    session_id: str
    size: int
    tail: bytes


class Transcripts:
    """Uploads transcripts: one upload at a time, whole lines only, and only lines the server does not have."""

    def __init__(self, api: Api, paths: WorkerPaths, agent: AgentDriver) -> None:
        self._api = api
        self._paths = paths
        self._agent = agent
        self._session_id: str | None = None
        self._due = asyncio.Event()
        self._is_late = False
        self._uploading = asyncio.Lock()
        #: The last state of the file that the server answered, and whether it accepted it.
        self._offered: tuple[str, int, int] | None = None
        self._accepted = False
        self._saved = SavedPart("", 0, b"")

    def note_turn(self, session_id: str | None) -> None:
        """Schedule a save: something was added to the session."""
        if session_id:
            self._session_id = session_id
            self._is_late = False
            self._due.set()

    async def save_turns(self) -> NoReturn:
        """Save after every turn, forever. Raises `Superseded`."""
        while True:
            await self._due.wait()
            await asyncio.sleep(SETTLE_SECONDS)
            self._due.clear()
            started = time.monotonic()
            saved = bool(self._session_id) and await self.save(str(self._session_id), tries=1)
            took = time.monotonic() - started
            if not saved:
                self._due.set()
            elif not self._is_late:
                self._is_late = True
                asyncio.get_running_loop().call_later(LATE_SECONDS, self._due.set)
            await asyncio.sleep(took * (1 / SHARE - 1) if saved else RETRY_SECONDS)

    async def save(self, session_id: str, *, tries: int) -> bool:
        """Upload the transcript, retrying while the server fails. Return whether the server has all of it."""
        async with self._uploading:
            for number in range(1, tries + 1):
                try:
                    if (done := await self._put(session_id)) is not None:
                        return done
                except (HttpError, OSError):
                    pass
                if number < tries:
                    await asyncio.sleep(min(5.0, 0.2 * 2**number))
            return False

    async def _put(self, session_id: str) -> bool | None:
        """Return None if a retry may succeed."""
        transcript = self._agent.find_transcript(self._paths, session_id)
        if transcript is None:
            return False
        stat = transcript.stat()
        state = (session_id, stat.st_size, stat.st_mtime_ns)
        if state == self._offered:
            return self._accepted
        status = await self._send(session_id, transcript)
        if status == 409:
            # The server has less than expected: send the whole file again.
            self._saved = SavedPart("", 0, b"")
            status = await self._send(session_id, transcript)
        if status >= 500 or status == 409:
            return None
        self._offered, self._accepted = state, status < 300
        return self._accepted

    async def _send(self, session_id: str, transcript: Path) -> int:
        """Send the whole lines added since the last time, part by part. Return the status of the last answer."""
        while True:
            with transcript.open("rb") as file:
                saved = self._saved
                continues = saved.session_id == session_id and _tail(file, saved.size) == saved.tail
                start = saved.size if continues else 0
                end = _end_of_lines(file, start)
                tail = _tail(file, end)
            if end == start:
                return 200
            part = FilePart(transcript, start, end - start)
            answer = await self._api.put_transcript(session_id, part, timeout=TIMEOUT_SECONDS)
            if answer.status >= 300:
                return answer.status
            self._saved = SavedPart(session_id, end, tail)


def _tail(file: BinaryIO, end: int) -> bytes:
    start = max(0, end - TAIL_BYTES)
    file.seek(start)
    return file.read(end - start)


def _end_of_lines(file: BinaryIO, start: int) -> int:
    """Return the end of the last whole line that fits in one part, or `start` if there is none."""
    size = file.seek(0, os.SEEK_END)
    end = min(size, start + PART_BYTES)
    if (found := _last_line_end(file, start, end)) or end == size:
        return found or start
    # A single line is longer than a part.
    file.seek(end)
    file.readline()
    return file.tell() if _last_line_end(file, file.tell() - 1, file.tell()) else start


def _last_line_end(file: BinaryIO, start: int, end: int) -> int | None:
    while end > start:
        chunk_start = max(start, end - CHUNK_BYTES)
        file.seek(chunk_start)
        found = file.read(end - chunk_start).rfind(b"\n")
        if found >= 0:
            return chunk_start + found + 1
        end = chunk_start
    return None
