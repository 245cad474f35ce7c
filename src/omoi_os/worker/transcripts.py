"""Transcripts: the agent's session is kept outside, so that another sandbox can resume it."""

from __future__ import annotations

import asyncio
from pathlib import Path

from omoi_os.worker.api import Api
from omoi_os.worker.http import HttpError
from omoi_os.worker.places import Places

TIMEOUT_SECONDS = 60.0


def find_transcript(places: Places, session_id: str) -> Path | None:
    """The session's file; its folder is named after the workspace in the CLI's own way."""
    projects = places.agent_config / "projects"
    if not session_id.replace("-", "").isalnum():
        return None
    return next((path for path in sorted(projects.glob(f"*/{session_id}.jsonl")) if path.is_file()), None)


async def save_transcript(api: Api, places: Places, session_id: str, *, tries: int) -> bool:
    """Put the session's file, trying again while the server fails; True once the server has it."""
    transcript = find_transcript(places, session_id)
    if transcript is None:
        return False
    for number in range(1, tries + 1):
        try:
            answer = await api.put_transcript(session_id, transcript, timeout=TIMEOUT_SECONDS)
            if answer.status < 500:
                return answer.status < 300
        except (HttpError, OSError):
            pass
        if number < tries:
            await asyncio.sleep(min(5.0, 0.2 * 2**number))
    return False
