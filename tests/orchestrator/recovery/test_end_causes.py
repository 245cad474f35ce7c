"""Who caused the end of an attempt."""

import pytest

from omoi_os.orchestrator.recovery import end_causes
from omoi_os.orchestrator.verification.check_runs import cause_of_failure
from omoi_os.providers.base import EndReason, SandboxReport
from omoi_os.sandboxes.lifecycle import StopCause
from omoi_os.sandboxes.models import Sandbox
from omoi_os.tasks.lifecycle import EndCause
from omoi_os.tasks.verdict import Check

WORK, PLATFORM = EndCause.WORK, EndCause.PLATFORM


@pytest.mark.parametrize(
    ("report", "cause"),
    [
        (SandboxReport(False, EndReason.EXITED, exit_code=1), WORK),
        (SandboxReport(False, EndReason.EXITED, exit_code=0), WORK),
        (SandboxReport(False, EndReason.OUT_OF_MEMORY, signal=9), WORK),
        (SandboxReport(False, EndReason.DISK_FULL, exit_code=1), WORK),
        (SandboxReport(False, EndReason.LIFETIME, signal=9), WORK),
        (SandboxReport(False, EndReason.SIGNALLED, signal=11), WORK),
        (SandboxReport(False, EndReason.SIGNALLED, signal=9), PLATFORM),
        (SandboxReport(False, EndReason.EXITED, exit_code=143), PLATFORM),
        (SandboxReport(False, EndReason.UNKNOWN), PLATFORM),
        (SandboxReport(False, EndReason.DESTROYED), PLATFORM),
    ],
)
def test_how_a_sandbox_ended_says_who_ended_it(report: SandboxReport, cause: EndCause) -> None:
    assert end_causes.of_end(Sandbox(), report, failure_type=None) == cause


@pytest.mark.parametrize(
    ("sandbox", "failure_type", "cause"),
    [
        (Sandbox(stop_cause=StopCause.REAPED), None, WORK),
        (Sandbox(stop_cause=StopCause.SILENT), None, PLATFORM),
        (Sandbox(failure="The agent ended without a result."), "unknown", WORK),
        (Sandbox(failure="The agent was killed: out of memory."), "oom", WORK),
        (Sandbox(failure="The model answered 400."), "model", WORK),
        (Sandbox(failure="The model was not reached."), "network", PLATFORM),
    ],
)
def test_what_was_reported_says_who_ended_it(sandbox: Sandbox, failure_type: str | None, cause: EndCause) -> None:
    exited = SandboxReport(False, EndReason.EXITED, exit_code=1)

    assert end_causes.of_end(sandbox, exited, failure_type=failure_type) == cause


def test_a_verification_that_could_not_be_carried_out_is_not_the_works_failure() -> None:
    failed, passed = Check("make test", 2, "1 failed"), Check("make lint", 0, "")

    assert cause_of_failure([passed, failed]) == WORK
    assert cause_of_failure([Check("verification", 127, "sh: verification: not found")]) == WORK
    assert cause_of_failure([Check("verification", 1, "could not be carried out 5 times: no disk")]) == PLATFORM
