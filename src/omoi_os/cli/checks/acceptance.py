"""The acceptance case in six steps: a ticket that asks for C(50,25) becomes a verified branch."""

import re
import time
from collections import Counter
from collections.abc import Callable, Sequence
from typing import Any, TextIO

from omoi_os.cli.output.progress import Progress
from omoi_os.cli.output.tables import outcome_label, usd
from omoi_os.cli.remote.client import Client
from omoi_os.errors import OmoiError
from omoi_os.printable import one_line
from omoi_os.tasks.outcomes import Outcome

OWNER, REPOSITORY = "kivo360", "OmoiOS"
ANSWER = 126410606437752
TICKET = {
    "title": "Calculate binomial coefficient",
    "description": (
        "Compute the binomial coefficient C(50,25) with Python, exactly.\n\n"
        "1. Write `binomial.py` at the root of the repository with a function that computes C(n, k).\n"
        "2. Edit it so that running `python3 binomial.py` prints C(50,25), the plain number and nothing else.\n"
        "3. Run it, and report the number that the run printed. Do not compute it in your head."
    ),
    "ticket_type": "feature",
    "acceptance": [f"python3 binomial.py | grep -q {ANSWER}"],
}
POLL_SECONDS = 0.25
DISPATCH_SECONDS = 300.0
TASK_SECONDS = 1800.0
_WAITING = ("pending", "blocked")
_ENDED = ("completed", "failed", "cancelled")

Task = dict[str, Any]
Event = dict[str, Any]


def run(url: str, token: str, out: TextIO) -> int:
    """Run the case and print its six steps. Return 0 when the task is verified and its events are complete."""
    with Client(url, token) as client:
        task, scripted = perform(client, out)
        return _report(client, task, out, scripted=scripted)


def perform(client: Client, out: TextIO) -> tuple[Task, bool]:
    """Do the first five steps and wait for the end. Return the ended task and whether the model was scripted."""
    _start_step(out, "[1/6] Checking API availability...")
    client.get("/health")
    scripted = client.get("/ready").get("model", "unknown") == "scripted"
    print(" OK", file=out)
    if scripted:
        print("      The agent uses the scripted model; set ANTHROPIC_API_KEY to use a real one.", file=out)
    _start_step(out, f"[2/6] Creating/finding project {OWNER}/{REPOSITORY}...")
    project_id = _project(client)
    print(f" OK (project_id: {project_id})", file=out)
    _start_step(out, "[3/6] Creating ticket with math task...")
    ticket = client.post("/api/v1/tickets", {**TICKET, "project_id": project_id})
    print(f" OK (ticket_id: {ticket['id']})", file=out)
    return _follow(client, ticket["tasks"][0]["id"], out), scripted


def _start_step(out: TextIO, text: str) -> None:
    print(text, end="", file=out, flush=True)


def _project(client: Client) -> str:
    for project in client.items("/api/v1/projects"):
        if (project["github_owner"], project["github_repo"]) == (OWNER, REPOSITORY):
            return str(project["id"])
    wanted = {"name": REPOSITORY, "github_owner": OWNER, "github_repo": REPOSITORY}
    return str(client.post("/api/v1/projects", wanted)["id"])


def _follow(client: Client, task_id: str, out: TextIO) -> Task:
    """Do steps four and five and wait for the end. Return the ended task."""
    _start_step(out, "[4/6] Waiting for task dispatch...")
    _until(client, task_id, lambda task: task["status"] not in _WAITING, seconds=DISPATCH_SECONDS)
    print(f" Task assigned (task_id: {task_id})", file=out, flush=True)
    task = _until(client, task_id, lambda task: bool(task["sandbox_id"]) or _has_ended(task), seconds=DISPATCH_SECONDS)
    if task["sandbox_id"]:
        print(f"[5/6] Sandbox spawned: {task['sandbox_id']}", file=out, flush=True)
    progress = Progress(out)
    try:
        return _until(client, task_id, _has_ended, seconds=TASK_SECONDS, progress=progress)
    finally:
        progress.finish()


def _has_ended(task: Task) -> bool:
    return task["status"] in _ENDED


def _until(
    client: Client,
    task_id: str,
    reached: Callable[[Task], bool],
    *,
    seconds: float,
    progress: Progress | None = None,
) -> Task:
    deadline = time.monotonic() + seconds
    while True:
        task = client.get(f"/api/v1/tasks/{task_id}")
        if reached(task):
            return task
        if time.monotonic() > deadline:
            raise OmoiError(f"task {task_id} is still {task['status']} after {seconds:.0f} s; see the platform's log")
        if progress is not None:
            progress.show(f"{task['status']}: {_last_event(client, task['sandbox_id'])}")
        time.sleep(POLL_SECONDS)


def _last_event(client: Client, sandbox_id: str | None) -> str:
    if sandbox_id is None:
        return "waiting for a new sandbox"
    for event in client.get(f"/api/v1/sandboxes/{sandbox_id}/events", limit=1, order="desc")["items"]:
        tool = event["event_data"].get("tool")
        return f"{event['event_type']} {tool}" if tool else str(event["event_type"])
    return "no events yet"


def _report(client: Client, task: Task, out: TextIO, *, scripted: bool) -> int:
    if task["status"] != "completed":
        print(f"[6/6] Task {task['status']}: {one_line(task['error'] or 'no reason given')}", file=out, flush=True)
        return 1
    events = list(client.items(f"/api/v1/sandboxes/{task['sandbox_id']}/events", order="asc", limit=500))
    answer = printed_number(events)
    faults = event_faults(events, strict=scripted)
    result = task["result"]
    print("[6/6] Task completed! Result:", file=out)
    print(
        f"      C(50,25) = {answer:,}" if answer is not None else "      the program printed no number",
        file=out,
    )
    print(
        f"      Branch: {one_line(task['branch_name'])}   commit: {one_line(str(result['commit_sha'])[:8])}   "
        f"verified: {'yes' if task['outcome'] == Outcome.VERIFIED else 'no'}",
        file=out,
    )
    print(f"      Outcome: {outcome_label(task)}   cost: {usd(task)}   tokens: {task['tokens']:,}", file=out)
    if answer != ANSWER:
        faults = [f"the program in the sandbox did not print {ANSWER}", *faults]
    if task["outcome"] != Outcome.VERIFIED:
        faults = [f"the result is {outcome_label(task)}", *faults]
    for fault in faults:
        print(f"      Unexpected: {fault}", file=out)
    out.flush()
    return 1 if faults else 0


def printed_number(events: Sequence[Event]) -> int | None:
    """Return the number that the program printed in the sandbox, from the output of the last Bash call."""
    for event in reversed(events):
        data = event["event_data"]
        if event["event_type"] == "agent.tool_completed" and data.get("tool") == "Bash" and not data.get("is_error"):
            found = re.search(r"(?<!\d)\d{15}(?!\d)", str(data.get("output")))
            if found:
                return int(found.group())
    return None


def event_faults(events: Sequence[Event], *, strict: bool) -> list[str]:
    """Return what is wrong with the events. Only `strict` counts steps: a real model may take fewer."""
    counts = Counter(event["event_type"] for event in events)
    diffs = [
        event["event_data"].get("diff_preview") or "" for event in events if event["event_type"] == "agent.file_edited"
    ]
    wanted = {"agent.started": 1, **({"agent.tool_use": 3, "agent.file_edited": 2} if strict else {})}
    faults = [
        f"{counts[kind]} {kind} events instead of at least {least}"
        for kind, least in wanted.items()
        if counts[kind] < least
    ]
    if counts["agent.completed"] != 1:
        faults.append(f"{counts['agent.completed']} agent.completed events instead of 1")
    if any("@@" not in diff for diff in diffs):
        faults.append("an agent.file_edited event has no unified diff")
    if [event["seq"] for event in events] != list(range(1, len(events) + 1)):
        faults.append("the event numbers have a gap or are out of order")
    return faults
