"""How the SDK's results become the end of a turn."""

from typing import Any

import pytest

from omoi_os.protocol.agent import TurnError, TurnProblem, Usage
from omoi_os.worker.agents.claude.results import turn_ended, turn_error
from omoi_os.worker.agents.claude.sdk import ResultMessage
from omoi_os.worker.agents.claude.translation import Conversation


def a_result(**changes: Any) -> ResultMessage:
    fields: dict[str, Any] = {
        "subtype": "success",
        "duration_ms": 1,
        "duration_api_ms": 1,
        "is_error": False,
        "num_turns": 1,
        "session_id": "s1",
    }
    return ResultMessage(**(fields | changes))


@pytest.mark.parametrize(
    ("changes", "error"),
    [
        ({"api_error_status": 529, "result": "API Error: 529 busy"}, TurnError(TurnProblem.MODEL, "busy", 529)),
        ({"api_error_status": 500, "result": None}, TurnError(TurnProblem.MODEL, "", 500)),
        ({"terminal_reason": "api_error", "result": "refused"}, TurnError(TurnProblem.NETWORK, "refused")),
        ({"subtype": "error_max_turns"}, TurnError(TurnProblem.MAX_TURNS)),
        ({"subtype": "error_max_budget_usd"}, TurnError(TurnProblem.BUDGET)),
        ({"subtype": "error_during_execution", "errors": ["a", "b"]}, TurnError(TurnProblem.UNKNOWN, "a; b")),
        (
            {"subtype": "error_during_execution", "errors": ["[ede_diagnostic] result_type=user"]},
            TurnError(TurnProblem.UNKNOWN),
        ),
    ],
)
def test_an_error_has_a_problem_and_a_sentence(changes: dict[str, Any], error: TurnError) -> None:
    assert turn_error(a_result(is_error=True, **changes)) == error


def test_a_turn_carries_its_output_its_cost_and_its_tokens() -> None:
    result = a_result(result="done", total_cost_usd=0.5, usage={"input_tokens": 3, "cache_read_input_tokens": None})
    turn = turn_ended(result, Conversation(workspace="/workspace"), interrupted=False, pending=2)

    assert (turn.error, turn.final_output, turn.cost_usd, turn.pending) == (None, "done", 0.5, 2)
    assert (turn.usage, turn.session_id, turn.outcome) == (Usage(input_tokens=3), "s1", "success")
