"""Why an attempt failed, in the contract's types."""

import pytest

from omoi_os.worker.attempt.failures import from_child, from_end, from_result


@pytest.mark.parametrize(
    ("result", "error", "error_type"),
    [
        ({"subtype": "success", "api_error_status": 529, "result": "API Error: 529 busy"}, "busy", "model"),
        ({"subtype": "success", "api_error_status": 500, "result": None}, "The model answered 500.", "model"),
        ({"subtype": "success", "terminal_reason": "api_error", "result": "refused"}, "refused", "network"),
        ({"subtype": "error_max_turns"}, "The agent used all its turns.", "unknown"),
        ({"subtype": "error_max_budget_usd"}, "The agent used all its budget.", "unknown"),
        ({"subtype": "error_during_execution", "errors": ["a", "b"]}, "a; b", "unknown"),
        (
            {"subtype": "error_during_execution", "errors": ["[ede_diagnostic] result_type=user"]},
            "The agent stopped: error_during_execution.",
            "unknown",
        ),
        ({}, "The agent stopped: None.", "unknown"),
    ],
)
def test_an_error_result_has_a_sentence_and_a_type(result: dict[str, object], error: str, error_type: str) -> None:
    failure = from_result(result)

    assert (failure.error, failure.error_type) == (error, error_type)


@pytest.mark.parametrize(
    ("exit_code", "out_of_memory", "error_type"),
    [(-9, False, "sigkill"), (-9, True, "oom"), (None, True, "oom"), (-11, False, "unknown"), (1, False, "unknown")],
)
def test_sigkill_and_out_of_memory_are_told_apart(exit_code: int | None, out_of_memory: bool, error_type: str) -> None:
    failure = from_end(exit_code, said="trace", out_of_memory=out_of_memory)

    assert (failure.error_type, failure.event_type) == (error_type, "agent.stream_error")


def test_a_cli_that_was_killed_counts_as_the_agent() -> None:
    killed = from_child({"error": "ProcessError", "exit_code": -9}, said="", out_of_memory=False)
    broken = from_child({"error": "CLINotFoundError: no"}, said="details", out_of_memory=False)

    assert killed.error_type == "sigkill"
    assert (broken.error, broken.error_type, broken.hint) == ("CLINotFoundError: no", "unknown", "details")
