"""Failures: why an attempt failed, as a sentence and as one of the contract's error types."""

from __future__ import annotations

import signal
from dataclasses import dataclass
from typing import Any

from omoi_os.protocol.agent import Failed, TurnEnded, TurnProblem
from omoi_os.protocol.events import EventType

MAX_ERROR_CHARACTERS = 4000
MAX_HINT_CHARACTERS = 1000


@dataclass(frozen=True, slots=True)
class Failure:
    """What went wrong, its type (sigkill, oom, model, network, tool, unknown) and what may help."""

    error: str
    error_type: str
    hint: str
    #: `agent.stream_error` if the agent was cut off, `agent.error` if it reported the failure itself.
    event_type: str = EventType.AGENT_ERROR
    #: The HTTP status of the model's API, if that is what failed.
    api_error_status: int | None = None
    #: Why the attempt is over, in one word.
    stop_reason: str = "error"
    #: The part of a reply that had been streamed when it was cut off.
    partial_output: str = ""

    @property
    def is_passing(self) -> bool:
        """Whether a retry may succeed: the model was busy or not reachable."""
        busy = self.api_error_status is not None and (
            self.api_error_status >= 500 or self.api_error_status in (408, 429)
        )
        return busy or (self.error_type == "network" and self.event_type == EventType.AGENT_ERROR)

    def about(self) -> dict[str, Any]:
        """Return the data of the event that reports it."""
        data = {"error": self.error, "error_type": self.error_type, "hint": self.hint}
        return data | ({"partial_output": self.partial_output} if self.partial_output else {})


_LIMITS = {
    TurnProblem.MAX_TURNS: ("The agent used all its turns.", "Raise MAX_TURNS or make the task smaller."),
    TurnProblem.BUDGET: ("The agent used all its budget.", "Raise the ticket's budget_usd."),
}


def from_turn(turn: TurnEnded) -> Failure | None:
    """Return the failure that ended a turn, if one did."""
    if turn.error is None:
        return None
    problem, sentence, status = turn.error.problem, turn.error.message[:MAX_ERROR_CHARACTERS], turn.error.status
    if problem in _LIMITS:
        error, hint = _LIMITS[problem]
        return Failure(error, "unknown", hint, stop_reason=problem.value)
    if problem == TurnProblem.MODEL:
        error = sentence or f"The model answered {status}."
        return Failure(error, "model", f"The model's API answered {status}.", api_error_status=status)
    if problem == TurnProblem.NETWORK:
        return Failure(sentence or "The model could not be reached.", "network", "Check that the gateway is running.")
    return Failure(sentence or f"The agent stopped: {turn.outcome}.", "unknown", "See the agent's last messages.")


def from_exit(exit_code: int | None, *, stderr: str, out_of_memory: bool, partial_output: str = "") -> Failure:
    """Return the failure of a driver that exited without a result."""
    if out_of_memory:
        error, kind, hint = "The agent was killed: out of memory.", "oom", "Raise SANDBOX_MEMORY_GB."
    elif exit_code == -signal.SIGKILL:
        error, kind, hint = (
            "The agent was killed with SIGKILL.",
            "sigkill",
            "A process in the sandbox or on its host killed it; the sandbox's end reason says whether memory ran out.",
        )
    elif exit_code is not None and exit_code < 0:
        error, kind, hint = f"The agent was ended by signal {-exit_code}.", "unknown", stderr[-MAX_HINT_CHARACTERS:]
    else:
        error, kind, hint = "The agent ended without a result.", "unknown", stderr[-MAX_HINT_CHARACTERS:]
    return Failure(error, kind, hint, event_type=EventType.AGENT_STREAM_ERROR, partial_output=partial_output)


def from_driver(report: Failed, *, stderr: str, out_of_memory: bool) -> Failure:
    """Return the failure that a driver reported: the agent's program did not start, or was cut off."""
    code, partial = report.exit_code, report.partial_output
    if out_of_memory or (code is not None and code < 0):
        return from_exit(code, stderr=stderr, out_of_memory=out_of_memory, partial_output=partial)
    return Failure(
        report.error[:MAX_ERROR_CHARACTERS],
        "unknown",
        stderr[-MAX_HINT_CHARACTERS:],
        event_type=EventType.AGENT_STREAM_ERROR,
        partial_output=partial,
    )
