"""Translate the SDK's result message into the report that a turn ended."""

from __future__ import annotations

from typing import Any

from omoi_os.protocol.agent import TurnEnded, TurnError, TurnProblem, Usage
from omoi_os.worker.agents.claude.sdk import ResultMessage
from omoi_os.worker.agents.claude.translation import Conversation

#: The prefix of lines that the CLI writes for its own developers.
_DIAGNOSTIC = "[ede_diagnostic]"

_LIMITS = {"error_max_turns": TurnProblem.MAX_TURNS, "error_max_budget_usd": TurnProblem.BUDGET}


def turn_ended(message: ResultMessage, conversation: Conversation, *, interrupted: bool, pending: int) -> TurnEnded:
    """Return the report of a turn that ended with this message."""
    return TurnEnded(
        error=turn_error(message) if message.is_error else None,
        interrupted=interrupted,
        pending=pending,
        final_output=message.result or "",
        session_id=message.session_id or conversation.session_id,
        stop_reason=message.stop_reason,
        outcome=message.subtype,
        cost_usd=message.total_cost_usd,
        usage=_usage(message.usage or {}),
    )


def turn_error(message: ResultMessage) -> TurnError:
    """Return the error of a failed turn. The subtype does not help: it is `success` for a failed model call."""
    if message.subtype in _LIMITS:
        return TurnError(_LIMITS[message.subtype])
    sentence = message.result or _joined(message.errors or [])
    status = message.api_error_status
    if isinstance(status, int) and not isinstance(status, bool):
        # The CLI puts the status before the API's own sentence.
        return TurnError(TurnProblem.MODEL, sentence.removeprefix(f"API Error: {status} "), status)
    return TurnError(TurnProblem.NETWORK if message.terminal_reason == "api_error" else TurnProblem.UNKNOWN, sentence)


def _joined(errors: list[str]) -> str:
    return "; ".join(error for error in map(str, errors) if not error.startswith(_DIAGNOSTIC))


def _usage(usage: dict[str, Any]) -> Usage:
    def count(name: str) -> int:
        value = usage.get(name)
        return value if isinstance(value, int) else 0

    return Usage(
        input_tokens=count("input_tokens"),
        output_tokens=count("output_tokens"),
        cache_creation_input_tokens=count("cache_creation_input_tokens"),
        cache_read_input_tokens=count("cache_read_input_tokens"),
    )
