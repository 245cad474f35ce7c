"""The verdict on a result, decided from the output and exit codes of its checks, never from the agent's report."""

from collections.abc import Sequence
from dataclasses import dataclass, replace
from enum import StrEnum

from omoi_os.tasks.empty_test_runs import NO_TESTS, no_tests_collected


class Verdict(StrEnum):
    """What the checks have shown about a task's commit."""

    VERIFIED = "verified"  #: every check passed in a fresh sandbox at this commit
    UNCHECKED = "unchecked"  #: nothing failed, and nothing was proven
    FAILED = "failed"  #: a check failed, or there is no commit to check


@dataclass(frozen=True, slots=True)
class Check:
    """One command and how it ended."""

    command: str
    exit_code: int
    #: The end of its output.
    output: str
    #: How it ended before the change: `failed`, `passed` or `not_run`.
    baseline: str = "not_run"
    #: Why a check that passed proves less than it seems to.
    warning: str | None = None

    @property
    def is_empty(self) -> bool:
        """Return whether it is a test run that collected no tests, which has neither passed nor failed."""
        return self.warning == NO_TESTS

    @property
    def has_failed(self) -> bool:
        """Return whether the result must not be accepted."""
        return self.exit_code != 0 and not self.is_empty


def with_warning(check: Check, printed: str) -> Check:
    """Return the check with a warning if it needs one; `printed` is its whole output."""
    return replace(check, warning=NO_TESTS) if no_tests_collected(check.exit_code, printed) else check


def judge(checks: Sequence[Check]) -> tuple[Verdict, str | None]:
    """Return the verdict on these checks, and the reason if it is not `verified`."""
    for check in checks:
        if check.has_failed:
            return Verdict.FAILED, f"`{_short(check.command)}` ended with exit code {check.exit_code}"
    proven = [check for check in checks if not check.is_empty]
    if proven and all(check.exit_code == 0 for check in checks):
        return Verdict.VERIFIED, None
    empty = next((check for check in checks if check.is_empty), None)
    if empty is None:
        return Verdict.UNCHECKED, "no acceptance commands are set on the ticket or the project"
    return Verdict.UNCHECKED, f"`{_short(empty.command)}` collected no tests, so nothing was proven"


def _short(command: str) -> str:
    """Return the command, shortened to fit into a sentence."""
    line = " ".join(command.split())
    return line if len(line) <= 200 else f"{line[:199]}…"
