"""Failures: why an attempt did not end well, in words and as one of the contract's types."""

from __future__ import annotations

import signal
from dataclasses import dataclass
from typing import Any

from omoi_os.protocol.events import EventType


@dataclass(frozen=True, slots=True)
class Failure:
    """What went wrong, its type (sigkill, oom, model, network, tool, unknown) and what may help."""

    error: str
    error_type: str
    hint: str
    #: `agent.stream_error` when the agent broke off, `agent.error` when it said that it failed.
    event_type: str = EventType.AGENT_ERROR
    #: The model API's HTTP status, if that is what failed.
    api_error_status: int | None = None
    #: Why the run is over, in one word.
    stop_reason: str = "error"
    #: What of a reply was there when it broke off.
    partial_output: str = ""

    @property
    def is_passing(self) -> bool:
        """Whether the same may go well a little later: the model was busy or out of reach."""
        busy = self.api_error_status is not None and (
            self.api_error_status >= 500 or self.api_error_status in (408, 429)
        )
        return busy or (self.error_type == "network" and self.event_type == EventType.AGENT_ERROR)

    def about(self) -> dict[str, Any]:
        """The data of the event that tells of it."""
        told = {"error": self.error, "error_type": self.error_type, "hint": self.hint}
        return told | ({"partial_output": self.partial_output} if self.partial_output else {})


#: How lines begin that the CLI writes for its own developers.
_DIAGNOSTIC = "[ede_diagnostic]"

_REASONS = {
    "error_max_turns": ("The agent used all its turns.", "Raise MAX_TURNS or make the task smaller.", "max_turns"),
    "error_max_budget_usd": ("The agent used all its budget.", "Raise the ticket's budget_usd.", "budget"),
}


def from_result(result: dict[str, Any]) -> Failure:
    """The failure that an error result tells. The subtype of a failed model call is `success`: it says nothing."""
    status = result.get("api_error_status")
    said = str(result.get("result") or _joined(result.get("errors")))[:4000]
    subtype = str(result.get("subtype"))
    if subtype in _REASONS:
        error, hint, stop_reason = _REASONS[subtype]
        return Failure(error, "unknown", hint, stop_reason=stop_reason)
    if isinstance(status, int) and not isinstance(status, bool):
        # The sentence is the API's own; the CLI puts its status before it.
        error = said.removeprefix(f"API Error: {status} ") or f"The model answered {status}."
        return Failure(error, "model", f"The model's API answered {status}.", api_error_status=status)
    if result.get("terminal_reason") == "api_error":
        return Failure(said or "The model was not reached.", "network", "Is the gateway running?")
    return Failure(said or f"The agent stopped: {subtype}.", "unknown", "See the agent's last messages.")


def _joined(errors: object) -> str:
    sentences = [str(error) for error in errors] if isinstance(errors, list) else []
    return "; ".join(sentence for sentence in sentences if not sentence.startswith(_DIAGNOSTIC))


def from_end(exit_code: int | None, *, said: str, out_of_memory: bool, partial_output: str = "") -> Failure:
    """The failure of a child that ended without a result. Whole replies were told before, `partial_output` was not."""
    if out_of_memory:
        error, kind, hint = "The agent was killed: out of memory.", "oom", "Raise SANDBOX_MEMORY_GB."
    elif exit_code == -signal.SIGKILL:
        error, kind, hint = (
            "The agent was killed with SIGKILL.",
            "sigkill",
            "Something in or above the sandbox killed it; the platform knows whether memory ran out.",
        )
    elif exit_code is not None and exit_code < 0:
        error, kind, hint = f"The agent was ended by signal {-exit_code}.", "unknown", said[-1000:]
    else:
        error, kind, hint = "The agent ended without a result.", "unknown", said[-1000:]
    return Failure(error, kind, hint, event_type=EventType.AGENT_STREAM_ERROR, partial_output=partial_output)


def from_child(message: dict[str, Any], *, said: str, out_of_memory: bool) -> Failure:
    """The failure that the child put in words: the CLI could not be started, or broke off."""
    code = message.get("exit_code")
    partial = str(message.get("partial_output") or "")
    if out_of_memory or (isinstance(code, int) and code < 0):
        exit_code = code if isinstance(code, int) else None
        return from_end(exit_code, said=said, out_of_memory=out_of_memory, partial_output=partial)
    error = str(message.get("error"))[:4000]
    event_type = EventType.AGENT_STREAM_ERROR
    return Failure(error, "unknown", said[-1000:], event_type=event_type, partial_output=partial)
