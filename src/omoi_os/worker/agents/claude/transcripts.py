"""Transcripts: the agent's session is kept outside, turn by turn, so that another sandbox can resume it."""

from __future__ import annotations

import asyncio
import os
import time
from dataclasses import dataclass
from pathlib import Path
from typing import BinaryIO, NoReturn

from omoi_os.worker.paths import Places
from omoi_os.worker.reporter.api import Api
from omoi_os.worker.reporter.http import CHUNK_BYTES, HttpError, Piece

TIMEOUT_SECONDS = 60.0

#: The CLI writes a turn a moment after it told of it, and turns that follow closely are saved together.
SETTLE_SECONDS = 0.3
#: On a busy machine that moment is longer: after the last turn the file is looked at once more.
LATE_SECONDS = 2.0
#: Saving takes at most this part of the time.
SHARE = 0.25
RETRY_SECONDS = 5.0

#: So much is sent at once, at the most, unless one line is longer.
PART_BYTES = 8 * 1024 * 1024

#: By so much of its end what was saved is known again.
TAIL_BYTES = 4096


def find_transcript(places: Places, session_id: str) -> Path | None:
    """The session's file; its folder is named after the workspace in the CLI's own way."""
    if not is_session_id(session_id):
        return None
    return next((path for path in sorted(projects(places).glob(f"*/{session_id}.jsonl")) if path.is_file()), None)


def newest_session(places: Places) -> str | None:
    """The session that was written last."""
    found = [path for path in projects(places).glob("*/*.jsonl") if path.is_file() and is_session_id(path.stem)]
    return max(found, key=lambda path: path.stat().st_mtime_ns).stem if found else None


def projects(places: Places) -> Path:
    """Where the CLI keeps sessions, in a folder for each workspace."""
    return places.agent_config / "projects"


def is_session_id(text: str) -> bool:
    """Whether a text may be part of a file's name."""
    return len(text) <= 100 and text.isascii() and text.replace("-", "").isalnum()


@dataclass(frozen=True, slots=True)
class Saved:
    """What the server has: so many bytes of a session, and how they end."""

    session_id: str
    size: int
    tail: bytes


class Transcripts:
    """Saves the session: one upload at a time, whole lines, of which those that the server has are not sent again."""

    def __init__(self, api: Api, places: Places) -> None:
        self._api = api
        self._places = places
        self._session_id: str | None = None
        self._due = asyncio.Event()
        self._is_late = False
        self._uploading = asyncio.Lock()
        #: The last state that the server decided on, and whether it took it.
        self._offered: tuple[str, int, int] | None = None
        self._taken = False
        #: Up to where the server has which session.
        self._saved = Saved("", 0, b"")

    def note_turn(self, session_id: str | None) -> None:
        """Something was added to the session: save it soon."""
        if session_id:
            self._session_id = session_id
            self._is_late = False
            self._due.set()

    async def save_turns(self) -> NoReturn:
        """Save after every turn, for ever. Ends only by `Superseded`."""
        while True:
            await self._due.wait()
            await asyncio.sleep(SETTLE_SECONDS)
            self._due.clear()
            began = time.monotonic()
            saved = bool(self._session_id) and await self.save(str(self._session_id), tries=1)
            took = time.monotonic() - began
            if not saved:
                self._due.set()
            elif not self._is_late:
                self._is_late = True
                asyncio.get_running_loop().call_later(LATE_SECONDS, self._due.set)
            await asyncio.sleep(took * (1 / SHARE - 1) if saved else RETRY_SECONDS)

    async def save(self, session_id: str, *, tries: int) -> bool:
        """Put the session's file, trying again while the server fails; True once the server has it as it is now."""
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
        """None when the server may take it another time."""
        transcript = find_transcript(self._places, session_id)
        if transcript is None:
            return False
        stat = transcript.stat()
        state = (session_id, stat.st_size, stat.st_mtime_ns)
        if state == self._offered:
            return self._taken
        status = await self._send(session_id, transcript)
        if status == 409:
            # The server has less than was thought: everything once more.
            self._saved = Saved("", 0, b"")
            status = await self._send(session_id, transcript)
        if status >= 500 or status == 409:
            return None
        self._offered, self._taken = state, status < 300
        return self._taken

    async def _send(self, session_id: str, transcript: Path) -> int:
        """Send the whole lines that came since the last time, part by part; the last answer's status."""
        while True:
            with transcript.open("rb") as file:
                saved = self._saved
                known = saved.session_id == session_id and _tail(file, saved.size) == saved.tail
                start = saved.size if known else 0
                end = _end_of_lines(file, start)
                tail = _tail(file, end)
            if end == start:
                return 200
            piece = Piece(transcript, start, end - start)
            answer = await self._api.put_transcript(session_id, piece, timeout=TIMEOUT_SECONDS)
            if answer.status >= 300:
                return answer.status
            self._saved = Saved(session_id, end, tail)


def _tail(file: BinaryIO, end: int) -> bytes:
    start = max(0, end - TAIL_BYTES)
    file.seek(start)
    return file.read(end - start)


def _end_of_lines(file: BinaryIO, start: int) -> int:
    """Where the last whole line ends of those that are sent in one part; `start` when there is none."""
    size = file.seek(0, os.SEEK_END)
    end = min(size, start + PART_BYTES)
    if (found := _last_end(file, start, end)) or end == size:
        return found or start
    # One line is longer than a part.
    file.seek(end)
    file.readline()
    return file.tell() if _last_end(file, file.tell() - 1, file.tell()) else start


def _last_end(file: BinaryIO, start: int, end: int) -> int | None:
    while end > start:
        begin = max(start, end - CHUNK_BYTES)
        file.seek(begin)
        found = file.read(end - begin).rfind(b"\n")
        if found >= 0:
            return begin + found + 1
        end = begin
    return None
