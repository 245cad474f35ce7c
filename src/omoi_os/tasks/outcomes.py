"""Outcome of a task, an attempt or a ticket: the one decision behind every colour and label."""

from collections.abc import Collection, Mapping
from enum import StrEnum
from typing import Any

from omoi_os.tasks.lifecycle import ACTIVE, TaskState
from omoi_os.tasks.verdict import Verdict


class Outcome(StrEnum):
    """The outcome of a task, an attempt or a ticket."""

    OPEN = "open"  #: not started
    IN_PROGRESS = "in_progress"  #: an agent works on it, or its result is being checked
    VERIFIED = "verified"  #: its checks passed at the pushed commit
    UNCHECKED = "unchecked"  #: it has a result that no check proved
    FAILED = "failed"  #: its checks failed, or it was given up
    NO_RESULT = "no_result"  #: it ended before it had a result


#: Outcomes of tasks and attempts that have ended.
FINAL = (Outcome.VERIFIED, Outcome.UNCHECKED, Outcome.FAILED, Outcome.NO_RESULT)

#: Names of the outcomes for commands and reports.
LABELS: Mapping[Outcome, str] = {
    Outcome.OPEN: "open",
    Outcome.IN_PROGRESS: "in progress",
    Outcome.VERIFIED: "verified",
    Outcome.UNCHECKED: "unchecked",
    Outcome.FAILED: "failed",
    Outcome.NO_RESULT: "no result",
}


def verdict_of(result: Mapping[str, Any] | None) -> Verdict | None:
    """Read the verdict from a task's result; None while there is none.

    Results of early versions have no `verdict`. In them, `verified` without a check proves nothing.
    """
    if result is None:
        return None
    if "verdict" in result:
        return Verdict(result["verdict"]) if result["verdict"] else None
    if not result.get("checks"):
        return Verdict.UNCHECKED if result.get("verified") else None
    return Verdict.VERIFIED if result.get("verified") else Verdict.FAILED


def of_task(status: str, verdict: Verdict | None) -> Outcome:
    """Decide the outcome of a task from its state and the verdict on its result."""
    state = TaskState(status)
    if state == TaskState.COMPLETED:
        return Outcome(verdict or Verdict.UNCHECKED)
    if state == TaskState.FAILED:
        return Outcome.FAILED
    if state == TaskState.CANCELLED:
        return Outcome.NO_RESULT
    return Outcome.IN_PROGRESS if state in ACTIVE else Outcome.OPEN


def of_attempt(verdict: str | None, *, alive: bool, failed: bool, being_checked: bool) -> Outcome:
    """Decide the outcome of one sandbox from how it ended and the verdict on what was made or checked in it.

    `being_checked`: its task is being verified, so the verdict may follow after the sandbox has ended.
    """
    if verdict is not None and not alive:
        return Outcome(verdict)
    if alive or being_checked:
        return Outcome.IN_PROGRESS
    return Outcome.FAILED if failed else Outcome.NO_RESULT


def of_ticket(outcomes: Collection[Outcome]) -> Outcome:
    """Decide the outcome of a ticket from those of its tasks: the least good one counts."""
    order = (Outcome.IN_PROGRESS, Outcome.FAILED, Outcome.OPEN, Outcome.UNCHECKED, Outcome.VERIFIED, Outcome.NO_RESULT)
    worst = next((outcome for outcome in order if outcome in outcomes), Outcome.OPEN)
    has_started = Outcome.UNCHECKED in outcomes or Outcome.VERIFIED in outcomes
    return Outcome.IN_PROGRESS if worst == Outcome.OPEN and has_started else worst
