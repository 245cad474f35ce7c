"""What a finished run has to show for itself: each check by name, and what is wrong if it is."""

from collections import Counter
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

from omoi_os.cli.checks.acceptance import shortcomings
from omoi_os.protocol.events import EventType
from omoi_os.sandboxes.lifecycle import SandboxState
from omoi_os.tasks.lifecycle import TaskState
from omoi_os.tasks.outcomes import LABELS, Outcome

Json = dict[str, Any]


@dataclass(frozen=True, slots=True)
class Run:
    """All that the API tells of one."""

    sandbox: Json
    task: Json
    events: Sequence[Json]
    #: The same as the stream tells them; None while it goes on.
    streamed: Sequence[Json] | None
    #: Documents that come with it, each with its size in bytes.
    documents: dict[str, int]
    #: Whether the script's steps are known, so that a missing one is a fault.
    scripted: bool


def check_ended(run: Run) -> list[str]:
    """It ended as it should."""
    status = run.sandbox["status"]
    return [] if status == SandboxState.STOPPED else [f"it is {status}: {run.sandbox['end_reason'] or 'no reason'}"]


def check_events(run: Run) -> list[str]:
    """The events are there, numbered without a gap, each edit with its diff."""
    faults = [f"sandbox.gap_since is {run.sandbox['gap_since']}"] if run.sandbox["gap_since"] else []
    return faults + shortcomings(run.events, strict=run.scripted)


def check_counts(run: Run) -> list[str]:
    """What is counted is what is listed."""
    counted, listed = run.sandbox["event_counts"], Counter(event["event_type"] for event in run.events)
    return [
        f"{counted.get(kind, 0)} {kind} are counted and {listed[kind]} are listed"
        for kind in sorted({*counted, *listed})
        if counted.get(kind, 0) != listed[kind]
    ]


def check_stream(run: Run) -> list[str]:
    """The stream tells what the list shows."""
    if run.streamed is None:
        return ["it has not ended yet"]
    numbers = ([event["seq"] for event in events] for events in (run.streamed, run.events))
    if run.streamed == run.events:
        return []
    return ["its events are not those of the list: numbers {} and {}".format(*(_short(seqs) for seqs in numbers))]


def check_order(run: Run) -> list[str]:
    """It was made, began, was done and was verified, in this order."""
    wanted = (
        EventType.SANDBOX_CREATED,
        EventType.AGENT_STARTED,
        EventType.AGENT_COMPLETED,
        EventType.TASK_VERIFIED,
    )
    seen = [event["event_type"] for event in run.events if event["event_type"] in wanted]
    first = sorted(wanted, key=lambda kind: seen.index(kind) if kind in seen else len(seen))
    missing = [f"there is no {kind}" for kind in wanted if kind not in seen]
    return missing or ([] if tuple(first) == wanted else [f"they came as {', '.join(first)}"])


def check_calls(run: Run) -> list[str]:
    """Every tool call has its result."""
    answered = {_call(event) for event in run.events if event["event_type"] == EventType.AGENT_TOOL_COMPLETED}
    return [
        f"call {event['seq']} of {event['event_data'].get('tool')} has no result"
        for event in run.events
        if event["event_type"] == EventType.AGENT_TOOL_USE and _call(event) not in answered
    ]


def check_result(run: Run) -> list[str]:
    """The task is completed, its commit is on a branch and was verified by commands that passed."""
    task, result = run.task, run.task["result"] or {}
    faults = []
    if task["status"] != TaskState.COMPLETED:
        faults.append(f"the task is {task['status']}: {task['error'] or 'no reason'}")
    if task["sandbox_id"] != run.sandbox["id"]:
        faults.append(f"the result is not of this sandbox but of {task['sandbox_id']}")
    if task["outcome"] != Outcome.VERIFIED:
        faults.append(f"it is not verified: its outcome is {LABELS[Outcome(task['outcome'])]}")
    if not (task["branch_name"] and result.get("commit_sha")):
        faults.append("there is no branch with a commit")
    return faults + [
        f"{check['command']} exits with {check['exit_code']}"
        for check in result.get("checks") or []
        if check["exit_code"] != 0
    ]


def check_documents(run: Run) -> list[str]:
    """Its log, diff and transcript can be read."""
    return [f"the {name} is empty" for name, size in run.documents.items() if not size]


def _short(numbers: list[int]) -> str:
    return f"{numbers[0]} to {numbers[-1]} ({len(numbers)})" if numbers else "none"


def _call(event: Json) -> object:
    return event["event_data"].get("tool_use_id")


#: In the order in which they are shown.
CHECKS: dict[str, Callable[[Run], list[str]]] = {
    "ended": check_ended,
    "events": check_events,
    "counts": check_counts,
    "stream": check_stream,
    "order": check_order,
    "tool calls": check_calls,
    "result": check_result,
    "documents": check_documents,
}
