"""One function decides how a task, an attempt and a ticket are shown."""

import pytest

from omoi_os.sandboxes.lifecycle import ALIVE, ENDED, SandboxState
from omoi_os.tasks.lifecycle import TaskState
from omoi_os.tasks.outcomes import FINAL, LABELS, Outcome, of_attempt, of_task, of_ticket, verdict_of
from omoi_os.tasks.verdict import Verdict

CHECK = {"command": "make test", "exit_code": 0, "output": ""}


def of_sandbox(state: str, verdict: str | None, *, being_checked: bool) -> Outcome:
    return of_attempt(verdict, alive=state in ALIVE, failed=state == "failed", being_checked=being_checked)


@pytest.mark.parametrize(
    ("result", "verdict"),
    [
        (None, None),
        ({"verdict": "verified", "verified": True, "checks": [CHECK]}, Verdict.VERIFIED),
        ({"verdict": "unchecked", "verified": False, "checks": [CHECK]}, Verdict.UNCHECKED),
        ({"verdict": "failed", "verified": False, "checks": []}, Verdict.FAILED),
        ({"verified": True, "checks": [CHECK]}, Verdict.VERIFIED),
        ({"verified": True, "checks": []}, Verdict.UNCHECKED),
        ({"verified": False, "checks": [CHECK]}, Verdict.FAILED),
        ({"verified": False, "checks": []}, None),
        ({"verdict": None, "verified": False, "checks": []}, None),
    ],
)
def test_a_result_without_a_verdict_counts_as_verified_only_if_something_was_checked(
    result: dict[str, object] | None, verdict: Verdict | None
) -> None:
    assert verdict_of(result) == verdict


def test_only_a_completed_task_with_that_verdict_is_verified() -> None:
    good = {
        (state, verdict)
        for state in TaskState
        for verdict in (None, *Verdict)
        if of_task(state, verdict) == Outcome.VERIFIED
    }

    assert good == {(TaskState.COMPLETED, Verdict.VERIFIED)}
    assert of_task("completed", None) == Outcome.UNCHECKED
    assert of_task("completed", Verdict.FAILED) == Outcome.FAILED
    assert of_task("failed", Verdict.UNCHECKED) == Outcome.FAILED
    assert of_task("cancelled", None) == Outcome.NO_RESULT
    assert [of_task(state, None) for state in ("blocked", "pending")] == [Outcome.OPEN] * 2
    assert [of_task(state, None) for state in ("assigned", "running", "verifying")] == [Outcome.IN_PROGRESS] * 3


def test_an_attempt_is_judged_by_its_own_verdict_however_its_sandbox_ended() -> None:
    for state in SandboxState:
        expected = Outcome.FAILED if state in ENDED else Outcome.IN_PROGRESS
        assert of_sandbox(state, "failed", being_checked=False) == expected
        assert of_sandbox(state, None, being_checked=False) != Outcome.VERIFIED
    assert of_sandbox("stopped", "verified", being_checked=False) == Outcome.VERIFIED
    assert of_sandbox("stopped", None, being_checked=True) == Outcome.IN_PROGRESS
    assert [of_sandbox(state, None, being_checked=False) for state in ("stopped", "lost")] == [Outcome.NO_RESULT] * 2
    assert of_sandbox("failed", None, being_checked=False) == Outcome.FAILED


def test_a_ticket_is_only_as_good_as_its_least_good_task() -> None:
    verified, unchecked, failed, no_result = FINAL

    assert of_ticket([]) == Outcome.OPEN
    assert of_ticket([verified, verified, no_result]) == verified
    assert of_ticket([verified, unchecked]) == unchecked
    assert of_ticket([verified, unchecked, failed, Outcome.OPEN]) == failed
    assert of_ticket([failed, Outcome.IN_PROGRESS]) == Outcome.IN_PROGRESS
    assert of_ticket([verified, Outcome.OPEN]) == Outcome.IN_PROGRESS
    assert of_ticket([no_result]) == no_result
    assert set(LABELS) == set(Outcome)
