"""`omoi compare`: compare the events, costs and tool calls of sandboxes."""

from collections.abc import Sequence
from datetime import UTC, datetime
from typing import Any

from omoi_os.cli.commands.events import read
from omoi_os.cli.output.tables import (
    as_json,
    as_line,
    cut,
    moment,
    outcome_label,
    span,
    subject_label,
    table,
    usd,
    width,
)
from omoi_os.cli.remote.client import Client
from omoi_os.cli.remote.connection import Json, connect, get_sandbox, path_of
from omoi_os.protocol.events import EventType
from omoi_os.sandboxes.artifacts.wording import telling_part

_LABEL, _CELL = 24, 12


def run(parameters: dict[str, Any]) -> int:
    """Print a comparison of two or more sandboxes."""
    ids = [parameters.pop("first"), *parameters.pop("others")]
    wants_json = parameters.pop("json", False)
    with connect(parameters) as client:
        runs = [summary_of(client, sandbox_id, now=datetime.now(UTC)) for sandbox_id in ids]
    divergence = first_difference([each["tool_calls"] for each in runs])
    if wants_json:
        print(as_json({"sandboxes": runs, "first_difference": divergence}))
        return 0
    _show_figures(runs)
    _show_files(runs)
    _show_divergence(runs, divergence)
    return 0


def summary_of(client: Client, sandbox_id: str, *, now: datetime) -> Json:
    """Return the values of one sandbox that are compared."""
    sandbox = get_sandbox(client, sandbox_id)
    calls = list(read(client, sandbox_id, event_type=EventType.AGENT_TOOL_USE))
    edits = read(client, sandbox_id, event_type=EventType.AGENT_FILE_EDITED)
    until = moment(sandbox["ended_at"]) if sandbox["ended_at"] else now
    shown = (
        *("id", "status", "outcome", "task_title", "spec_id", "provider", "model", "attempt"),
        *("cost_usd", "simulated_cost_usd", "cost_simulated", "tokens", "event_counts"),
    )
    return {
        **{name: sandbox[name] for name in shown},
        "first_event": _end_of(client, sandbox_id, order="asc"),
        "last_event": _end_of(client, sandbox_id, order="desc"),
        "duration_seconds": round((until - moment(sandbox["created_at"])).total_seconds(), 3),
        "files_changed": sorted({str(event["event_data"].get("file_path")) for event in edits}),
        "tool_calls": [
            {"seq": event["seq"], **{name: event["event_data"].get(name) for name in ("tool", "input")}}
            for event in calls
        ],
    }


def first_difference(runs: Sequence[Sequence[Json]]) -> int | None:
    """Return the index of the first tool call that differs between the runs, or None if all are the same."""
    for place in range(max(map(len, runs), default=0)):
        calls = [(run[place]["tool"], run[place]["input"]) if place < len(run) else None for run in runs]
        if any(call != calls[0] for call in calls):
            return place
    return None


def _end_of(client: Client, sandbox_id: str, *, order: str) -> Json | None:
    found = client.get(path_of(sandbox_id, "/events"), order=order, limit=1)["items"]
    return {name: found[0][name] for name in ("seq", "event_type", "created_at")} if found else None


def _show_figures(runs: Sequence[Json]) -> None:
    types = sorted({event_type for each in runs for event_type in each["event_counts"]})
    rows = [
        ["", *(each["id"] for each in runs)],
        ["status", *(each["status"] for each in runs)],
        ["outcome", *map(outcome_label, runs)],
        ["task", *map(subject_label, runs)],
        ["attempt", *(str(each["attempt"]) for each in runs)],
        ["provider", *(each["provider"] for each in runs)],
        ["model", *(each["model"] or "none" for each in runs)],
        ["first event", *(_describe(each["first_event"]) for each in runs)],
        ["last event", *(_describe(each["last_event"]) for each in runs)],
        ["duration", *(span(each["duration_seconds"]) for each in runs)],
        ["cost", *map(usd, runs)],
        ["tokens", *(f"{each['tokens']:,}" for each in runs)],
        ["files changed", *(str(len(each["files_changed"])) for each in runs)],
        ["events", *(str(sum(each["event_counts"].values())) for each in runs)],
        *([kind, *(str(each["event_counts"].get(kind, 0)) for each in runs)] for kind in types),
    ]
    # Ids are never shortened: people copy them into the next command.
    columns = max(_CELL, (width() - _LABEL) // len(runs) - 2, *(len(each["id"]) for each in runs))
    fitted = [[label, *(cut(as_line(cell), columns) for cell in cells)] for label, *cells in rows]
    for line in table(fitted, width=width(), flexible=0):
        print(line)


def _describe(event: Json | None) -> str:
    return f"{event['created_at'][11:19]} {event['event_type']}" if event else "none"


def _show_files(runs: Sequence[Json]) -> None:
    everywhere = set.intersection(*(set(each["files_changed"]) for each in runs))
    if all(set(each["files_changed"]) == everywhere for each in runs):
        return
    print("\nFiles that not all sandboxes changed:")
    for each in runs:
        names = ", ".join(name for name in each["files_changed"] if name not in everywhere)
        print(cut(f"  {each['id']}  {as_line(names) or 'none'}", width()))


def _show_divergence(runs: Sequence[Json], divergence: int | None) -> None:
    if divergence is None:
        print(f"\nTheir {len(runs[0]['tool_calls'])} tool calls are the same.")
        return
    print(f"\nTheir tool calls differ from call {divergence + 1} on:")
    for each in runs:
        calls = each["tool_calls"]
        said = "no further calls"
        if divergence < len(calls):
            call = calls[divergence]
            said = f"seq {call['seq']}  {as_line(telling_part(EventType.AGENT_TOOL_USE, call))}"
        print(cut(f"  {each['id']}  {said}", width()))
