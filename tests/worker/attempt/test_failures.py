"""Why an attempt failed, in the contract's types."""

import pytest

from omoi_os.protocol.agent import Failed, TurnEnded, TurnError, TurnProblem
from omoi_os.worker.attempt.failures import from_driver, from_exit, from_turn


@pytest.mark.parametrize(
    ("error", "sentence", "error_type", "stop_reason"),
    [
        (TurnError(TurnProblem.MODEL, "busy", 529), "busy", "model", "error"),
        (TurnError(TurnProblem.MODEL, "", 500), "The model answered 500.", "model", "error"),
        (TurnError(TurnProblem.NETWORK, "refused"), "refused", "network", "error"),
        (TurnError(TurnProblem.NETWORK), "The model could not be reached.", "network", "error"),
        (TurnError(TurnProblem.MAX_TURNS), "The agent used all its turns.", "unknown", "max_turns"),
        (TurnError(TurnProblem.BUDGET), "The agent used all its budget.", "unknown", "budget"),
        (TurnError(TurnProblem.UNKNOWN, "a; b"), "a; b", "unknown", "error"),
        (TurnError(TurnProblem.UNKNOWN), "The agent stopped: error_during_execution.", "unknown", "error"),
    ],
)
def test_an_error_of_a_turn_has_a_sentence_and_a_type(
    error: TurnError, sentence: str, error_type: str, stop_reason: str
) -> None:
    failure = from_turn(TurnEnded(error, outcome="error_during_execution"))

    assert failure
    assert (failure.error, failure.error_type, failure.stop_reason) == (sentence, error_type, stop_reason)
    assert failure.api_error_status == error.status


def test_a_turn_without_an_error_is_no_failure() -> None:
    assert from_turn(TurnEnded()) is None


@pytest.mark.parametrize(
    ("exit_code", "out_of_memory", "error_type"),
    [(-9, False, "sigkill"), (-9, True, "oom"), (None, True, "oom"), (-11, False, "unknown"), (1, False, "unknown")],
)
def test_sigkill_and_out_of_memory_are_told_apart(exit_code: int | None, out_of_memory: bool, error_type: str) -> None:
    failure = from_exit(exit_code, stderr="trace", out_of_memory=out_of_memory)

    assert (failure.error_type, failure.event_type) == (error_type, "agent.stream_error")


def test_a_cli_that_was_killed_counts_as_the_agent() -> None:
    killed = from_driver(Failed("ProcessError", exit_code=-9), stderr="", out_of_memory=False)
    broken = from_driver(Failed("CLINotFoundError: no"), stderr="details", out_of_memory=False)

    assert killed.error_type == "sigkill"
    assert (broken.error, broken.error_type, broken.hint) == ("CLINotFoundError: no", "unknown", "details")
