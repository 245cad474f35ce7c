"""`omoi cleanup`: find orphaned sandboxes, and stop them with `--yes`."""

import sys
from datetime import UTC, datetime, timedelta
from typing import Any

from omoi_os.cli.output.tables import moment, span, subject_label, table, width
from omoi_os.cli.remote.client import Client
from omoi_os.cli.remote.connection import Json, connect, path_of
from omoi_os.config import load_settings
from omoi_os.errors import OmoiError
from omoi_os.printable import one_line
from omoi_os.protocol.events import EventType
from omoi_os.sandboxes.lifecycle import ENDED, Purpose, SandboxState
from omoi_os.tasks.lifecycle import TERMINAL

#: The platform itself stops a sandbox that has only just become an orphan.
GRACE = timedelta(seconds=60)
_PAGE = 200


def run(parameters: dict[str, Any]) -> int:
    """Return 1 when a sandbox could not be stopped, else 0. Without `--yes` nothing is changed."""
    parameters.pop("dry_run", None)
    for_real = parameters.pop("yes", False)
    settings = load_settings(**parameters)
    silence = timedelta(seconds=max(settings.idle_after_seconds, settings.stuck_after_seconds))
    with connect(parameters) as client:
        found = _orphaned(client, silence=silence)
        if not found:
            print("No orphaned sandboxes.")
            return 0
        rows = [
            ("ID", "STATUS", "TASK", "REASON"),
            *((row["id"], row["status"], subject_label(row), why) for row, why in found),
        ]
        for line in table(rows, width=width(), flexible=2):
            print(line)
        if not for_real:
            print(f"\nNothing was changed. `omoi cleanup --yes` stops {_sandboxes(len(found))}.")
            return 0
        print(flush=True)
        return _stop_all(client, [row["id"] for row, _ in found])


def why_orphaned(
    sandbox: Json, task: Json | None, *, linger: timedelta, silence: timedelta, now: datetime
) -> str | None:
    """Return why a live sandbox is an orphan, or None. `linger`: how long it waits for follow-up messages.

    `task` is None for a sandbox that serves a spec.
    """
    heard = max(moment(at) for at in _signs(sandbox, "last_heartbeat_at"))
    worked = max(moment(at) for at in _signs(sandbox))
    if task is not None and now - worked > GRACE + linger:
        if task["status"] in TERMINAL:
            return f"its task is {task['status']}"
        if sandbox["purpose"] == Purpose.WORK and task["sandbox_id"] != sandbox["id"]:
            return f"its task continues in {task['sandbox_id']}" if task["sandbox_id"] else "its task no longer uses it"
    effect = "; stopping it fails its task" if task is not None else ""
    if now - heard > silence + linger:
        return f"no heartbeat for {span((now - heard).total_seconds())}{effect}"
    if sandbox["purpose"] == Purpose.WORK and now - worked > silence + linger:
        return f"no activity for {span((now - worked).total_seconds())}{effect}"
    return None


def _signs(sandbox: Json, *more: str) -> list[str]:
    return [sandbox[name] for name in ("created_at", "last_work_at", *more) if sandbox[name]]


def _orphaned(client: Client, *, silence: timedelta) -> list[tuple[Json, str]]:
    """Return the live orphaned sandboxes that are not being stopped yet, each with the reason; oldest first."""
    alive = [
        sandbox
        for status in (SandboxState.CREATING, SandboxState.RUNNING)
        for sandbox in client.items("/api/v1/sandboxes", status=status, limit=_PAGE)
    ]
    found = []
    for sandbox in sorted(alive, key=lambda row: str(row["created_at"])):
        task = client.get(path_of(sandbox["id"], "/task")) if sandbox["task_id"] else None
        why = why_orphaned(sandbox, task, linger=_linger(client, sandbox), silence=silence, now=datetime.now(UTC))
        if why is not None:
            found.append((sandbox, why))
    return found


def _linger(client: Client, sandbox: Json) -> timedelta:
    """Return how long the sandbox last reported to wait for messages."""
    if not sandbox["event_counts"].get(EventType.AGENT_WAITING):
        return timedelta(0)
    said = client.get(path_of(sandbox["id"], "/events"), event_type=EventType.AGENT_WAITING, order="desc", limit=1)
    seconds = said["items"][0]["event_data"].get("linger_seconds") if said["items"] else None
    # The sandbox reports this value, so it is limited to one day.
    return timedelta(seconds=min(max(seconds, 0), 86_400)) if isinstance(seconds, int | float) else timedelta(0)


def _stop_all(client: Client, ids: list[str]) -> int:
    failed = 0
    for sandbox_id in ids:
        try:
            sandbox = client.delete(path_of(sandbox_id))
        except OmoiError as error:
            failed += 1
            print(f"{sandbox_id}: could not be stopped: {one_line(str(error))}", file=sys.stderr, flush=True)
            continue
        had_ended = sandbox["status"] in ENDED
        print(f"{sandbox_id}: {'had already ended' if had_ended else 'stopping'}", flush=True)
    return 1 if failed else 0


def _sandboxes(count: int) -> str:
    return "this sandbox" if count == 1 else f"these {count} sandboxes"
