"""Resume the conversation of the previous attempt, or report that it is lost."""

from __future__ import annotations

import asyncio
from typing import Any

from omoi_os.worker.agents.base import AgentDriver, Session
from omoi_os.worker.attempt.failures import Failure
from omoi_os.worker.paths import WorkerPaths
from omoi_os.worker.reporter.api import Api
from omoi_os.worker.reporter.http import HttpError

TRIES = 5


class SessionLost(Exception):
    """The task has a conversation that cannot be resumed."""


async def restore_session(api: Api, paths: WorkerPaths, agent: AgentDriver) -> Session | None:
    """Fetch the task's conversation and write it to where the agent looks for it.

    Return None if the task has none. Raises `SessionLost` if it has one that cannot be fetched or is damaged.
    """
    for number in range(1, TRIES + 1):
        try:
            found = await api.get_session()
            session = agent.restore_transcript(paths, *found) if found else None
        except (HttpError, OSError) as error:
            # Losing the conversation is better than losing the attempt.
            if number == TRIES:
                raise SessionLost(f"The conversation could not be fetched: {error}") from error
            await asyncio.sleep(min(5.0, 0.2 * 2**number))
            continue
        if found and session is None:
            raise SessionLost("The saved conversation is damaged.")
        return session
    return None


def forget_session(paths: WorkerPaths, agent: AgentDriver, session: Session) -> None:
    """Remove the transcript of a session that the agent refused, so that salvage does not take it for the newest."""
    path = agent.find_transcript(paths, session.id)
    if path is not None:
        path.unlink(missing_ok=True)


def is_refusal(failure: Failure) -> bool:
    """Return whether a conversation that failed at once may have failed because it was resumed."""
    return failure.error_type == "unknown" or failure.api_error_status in (400, 413)


def not_resumed(session: Session, failure: Failure) -> dict[str, Any]:
    """Return the data of the error event for a session that the agent refused."""
    return lost(f"The session {session.id} could not be resumed: {failure.error}", failure.error_type)


def lost(error: str, error_type: str = "unknown") -> dict[str, Any]:
    """Return the data of the error event for a lost conversation; the platform then delivers its messages again."""
    hint = "The agent starts the task again and receives every message again."
    return {"error": error, "error_type": error_type, "hint": hint, "conversation_lost": True}
