"""Transcripts: the agent's session is kept outside, turn by turn, so that another sandbox can resume it."""

from __future__ import annotations

import asyncio
import time
from pathlib import Path
from typing import NoReturn

from omoi_os.worker.api import Api
from omoi_os.worker.http import HttpError
from omoi_os.worker.places import Places

TIMEOUT_SECONDS = 60.0

#: The CLI writes a turn a moment after it told of it, and turns that follow closely are saved together.
SETTLE_SECONDS = 0.3
#: Saving takes at most this part of the time: a long session is large, and it is sent whole.
SHARE = 0.25
RETRY_SECONDS = 5.0


def find_transcript(places: Places, session_id: str) -> Path | None:
    """The session's file; its folder is named after the workspace in the CLI's own way."""
    if not _is_session_id(session_id):
        return None
    return next((path for path in sorted(_projects(places).glob(f"*/{session_id}.jsonl")) if path.is_file()), None)


def newest_session(places: Places) -> str | None:
    """The session that was written last."""
    found = [path for path in _projects(places).glob("*/*.jsonl") if path.is_file() and _is_session_id(path.stem)]
    return max(found, key=lambda path: path.stat().st_mtime_ns).stem if found else None


def _projects(places: Places) -> Path:
    return places.agent_config / "projects"


def _is_session_id(text: str) -> bool:
    return len(text) <= 100 and text.isascii() and text.replace("-", "").isalnum()


class Transcripts:
    """Saves the session: one upload at a time, the newest state wins, what has not changed is not sent again."""

    def __init__(self, api: Api, places: Places) -> None:
        self._api = api
        self._places = places
        self._session_id: str | None = None
        self._due = asyncio.Event()
        self._uploading = asyncio.Lock()
        #: The last state that the server decided on, and whether it took it.
        self._offered: tuple[str, int, int] | None = None
        self._taken = False

    def note_turn(self, session_id: str | None) -> None:
        """Something was added to the session: save it soon."""
        if session_id:
            self._session_id = session_id
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
        answer = await self._api.put_transcript(session_id, transcript, timeout=TIMEOUT_SECONDS)
        if answer.status >= 500:
            return None
        self._offered, self._taken = state, answer.status < 300
        return self._taken
