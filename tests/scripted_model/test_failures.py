"""Counting failures."""

from omoi_os.scripted_model.failures import Failures, error_body


def test_a_step_fails_as_often_as_asked_in_each_run() -> None:
    failures = Failures()

    assert [failures.fail_again(("left", "a"), times=2) for _ in range(4)] == [True, True, False, False]
    assert failures.fail_again(("right", "a"), times=2)
    assert failures.fail_again(("left", "b"), times=2)


def test_only_the_runs_that_were_idle_longest_are_forgotten() -> None:
    failures = Failures(limit=2)
    for run in ("old", "kept", "new"):
        failures.fail_again((run,), times=1)

    assert not failures.fail_again(("kept",), times=1)
    assert failures.fail_again(("old",), times=1)


def test_errors_have_the_types_of_the_messages_api() -> None:
    kinds = {status: error_body(status, "m")["error"]["type"] for status in (400, 418, 429, 500, 503, 529)}

    assert kinds == {
        400: "invalid_request_error",
        418: "invalid_request_error",
        429: "rate_limit_error",
        500: "api_error",
        503: "api_error",
        529: "overloaded_error",
    }
