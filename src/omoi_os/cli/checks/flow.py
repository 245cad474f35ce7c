"""Checks of a finished run. Each returns what is wrong, or an empty list."""

from collections import Counter
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

from omoi_os.cli.checks.acceptance import event_faults
from omoi_os.protocol.events import EventType
from omoi_os.sandboxes.lifecycle import SandboxState
from omoi_os.tasks.lifecycle import TaskState
from omoi_os.tasks.outcomes import LABELS, Outcome

Json = dict[str, Any]


@dataclass(frozen=True, slots=True)
class Run:
    """What the API returns about one run."""

    sandbox: Json
    task: Json
    events: Sequence[Json]
    #: The events from the stream; None while the sandbox is running.
    streamed: Sequence[Json] | None
    #: Size in bytes of each document of the run.
    documents: dict[str, int]
    #: Whether the script's steps are known, so that a missing step is a fault.
    scripted: bool


def check_ended(run: Run) -> list[str]:
    """Check that the sandbox stopped normally."""
    status = run.sandbox["status"]
    return (
        []
        if status == SandboxState.STOPPED
        else [f"the sandbox is {status}: {run.sandbox['end_reason'] or 'no reason given'}"]
    )


def check_events(run: Run) -> list[str]:
    """Check that the events are complete and numbered without a gap, each edit with its diff."""
    missing_since = run.sandbox["gap_since"]
    faults = [f"an event of the worker has been missing since {missing_since}"] if missing_since else []
    return faults + event_faults(run.events, strict=run.scripted)


def check_counts(run: Run) -> list[str]:
    """Check that the event counts match the list of events."""
    counted, listed = run.sandbox["event_counts"], Counter(event["event_type"] for event in run.events)
    return [
        f"{kind}: {counted.get(kind, 0)} events counted, {listed[kind]} listed"
        for kind in sorted({*counted, *listed})
        if counted.get(kind, 0) != listed[kind]
    ]


def check_stream(run: Run) -> list[str]:
    """Check that the stream delivers the events of the list."""
    if run.streamed is None:
        return ["the sandbox has not ended yet"]
    numbers = ([event["seq"] for event in events] for events in (run.streamed, run.events))
    if run.streamed == run.events:
        return []
    return ["the stream and the list differ: events {} and {}".format(*(_short(seqs) for seqs in numbers))]


def check_order(run: Run) -> list[str]:
    """Check that the sandbox was created, started, completed and verified, in this order."""
    wanted = (
        EventType.SANDBOX_CREATED,
        EventType.AGENT_STARTED,
        EventType.AGENT_COMPLETED,
        EventType.TASK_VERIFIED,
    )
    seen = [event["event_type"] for event in run.events if event["event_type"] in wanted]
    first = sorted(wanted, key=lambda kind: seen.index(kind) if kind in seen else len(seen))
    missing = [f"{kind} is missing" for kind in wanted if kind not in seen]
    return missing or ([] if tuple(first) == wanted else [f"the order is {', '.join(first)}"])


def check_calls(run: Run) -> list[str]:
    """Check that every tool call has a result."""
    answered = {_call(event) for event in run.events if event["event_type"] == EventType.AGENT_TOOL_COMPLETED}
    return [
        f"the call of {event['event_data'].get('tool')} in event {event['seq']} has no result"
        for event in run.events
        if event["event_type"] == EventType.AGENT_TOOL_USE and _call(event) not in answered
    ]


def check_result(run: Run) -> list[str]:
    """Check that the task is completed and that its commit is on a branch and verified."""
    task, result = run.task, run.task["result"] or {}
    faults = []
    if task["status"] != TaskState.COMPLETED:
        faults.append(f"the task is {task['status']}: {task['error'] or 'no reason given'}")
    if task["sandbox_id"] != run.sandbox["id"]:
        faults.append(f"the task's result comes from another sandbox, {task['sandbox_id']}")
    if task["outcome"] != Outcome.VERIFIED:
        faults.append(f"the outcome is {LABELS[Outcome(task['outcome'])]}")
    if not (task["branch_name"] and result.get("commit_sha")):
        faults.append("no branch has the commit")
    return faults + [
        f"{check['command']} exited with {check['exit_code']}"
        for check in result.get("checks") or []
        if check["exit_code"] != 0
    ]


def check_documents(run: Run) -> list[str]:
    """Check that log, diff and transcript can be read."""
    return [f"the {name} is empty" for name, size in run.documents.items() if not size]


def _short(numbers: list[int]) -> str:
    return f"{numbers[0]} to {numbers[-1]} ({len(numbers)})" if numbers else "none"


def _call(event: Json) -> object:
    return event["event_data"].get("tool_use_id")


#: The checks in the order in which they are shown.
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
