"""The session: the conversation of the attempt before this one, put where the agent's CLI looks for it."""

from __future__ import annotations

import asyncio
import json
import re
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from omoi_os.worker.agents.claude.transcripts import find_transcript, is_session_id, projects
from omoi_os.worker.attempt.failures import Failure
from omoi_os.worker.paths import Places
from omoi_os.worker.reporter.api import Api
from omoi_os.worker.reporter.driver_process import finite
from omoi_os.worker.reporter.http import HttpError

TRIES = 5


@dataclass(frozen=True, slots=True)
class Session:
    """A conversation to go on with."""

    id: str
    #: What it had cost by then: the CLI counts on from there.
    cost_usd: float


class SessionLost(Exception):
    """There is a conversation, but it cannot be resumed."""


async def restore_session(api: Api, places: Places) -> Session | None:
    """Fetch the task's conversation and write it down for the CLI; None when there is none, `SessionLost` when there is
    one that cannot be resumed."""
    for number in range(1, TRIES + 1):
        try:
            found = await api.get_session()
            session = _write(places, *found) if found else None
        except (HttpError, OSError) as error:
            # A conversation is worth some patience, but not the attempt.
            if number == TRIES:
                raise SessionLost(f"The conversation could not be fetched: {error}") from error
            await asyncio.sleep(min(5.0, 0.2 * 2**number))
            continue
        if found and session is None:
            raise SessionLost("The conversation that was saved is damaged.")
        return session
    return None


def forget_session(places: Places, session: Session) -> None:
    """Remove a conversation that the CLI does not take, so that nobody takes it for the newest."""
    path = find_transcript(places, session.id)
    if path is not None:
        path.unlink(missing_ok=True)


def is_refusal(failure: Failure) -> bool:
    """Whether a conversation that failed at once may have failed because it was resumed."""
    return failure.error_type == "unknown" or failure.api_error_status in (400, 413)


def not_resumed(session: Session, failure: Failure) -> dict[str, Any]:
    """What is told when the agent begins anew."""
    return lost(f"The session {session.id} could not be resumed: {failure.error}", failure.error_type)


def lost(error: str, error_type: str = "unknown") -> dict[str, Any]:
    """Describe that the agent starts without the conversation; the platform then delivers its messages again."""
    hint = "The agent starts the task again, and gets every message again."
    return {"error": error, "error_type": error_type, "hint": hint, "conversation_lost": True}


def _write(places: Places, session_id: str, content: bytes) -> Session | None:
    if not is_session_id(session_id):
        return None
    own = find_transcript(places, session_id)
    if own is not None and own.stat().st_size >= len(content):
        # A worker that went on in the same sandbox: what lies here is as new.
        content = own.read_bytes()
    lines = [line for line in content.splitlines() if _parse(line)]
    if not any(b'"assistant"' in line or b'"user"' in line for line in lines):
        return None
    path = own or projects(places) / _key(places.workspace) / f"{session_id}.jsonl"
    path.parent.mkdir(parents=True, exist_ok=True, mode=0o700)
    partial = path.with_suffix(".new")
    partial.write_bytes(b"".join(line + b"\n" for line in lines))
    partial.replace(path)
    return Session(session_id, _cost(lines))


def _key(workspace: Path) -> str:
    """The CLI's own name for the folder of a workspace's sessions."""
    return re.sub("[^a-zA-Z0-9]", "-", str(workspace))


def _cost(lines: list[bytes]) -> float:
    for line in reversed(lines):
        if b'"cost-state"' in line and (state := _parse(line)).get("type") == "cost-state":
            return finite(state.get("totalCostUSD")) or 0.0
    return 0.0


def _parse(line: bytes) -> dict[str, Any]:
    """The JSON object of a line; an empty one for a line that is damaged or cut off."""
    try:
        value = json.loads(line)
    except (ValueError, RecursionError):
        return {}
    return value if isinstance(value, dict) else {}
