"""`omoi sandboxes`: list the newest sandboxes."""

from datetime import UTC, datetime
from itertools import islice
from typing import Any

from omoi_os.cli.output.tables import as_json, moment, outcome_label, span, subject_label, table, usd, width
from omoi_os.cli.remote.connection import Json, connect
from omoi_os.sandboxes.lifecycle import Purpose

DEFAULT_LIMIT = 20
_PAGE = 200
_HEAD = ("ID", "STATUS", "OUTCOME", "TASK", "PROVIDER", "ATTEMPT", "COST", "AGE")


def run(parameters: dict[str, Any]) -> int:
    """Print the sandboxes, newest first."""
    limit, status = parameters.pop("limit", DEFAULT_LIMIT), parameters.pop("status", None)
    wants_json = parameters.pop("json", False)
    query = {"status": status} if status else {}
    with connect(parameters) as client:
        found = list(islice(client.items("/api/v1/sandboxes", limit=min(limit, _PAGE), **query), limit))
    if wants_json:
        for sandbox in found:
            print(as_json(sandbox))
    elif found:
        now = datetime.now(UTC)
        for line in table([_HEAD, *(_row(sandbox, now=now) for sandbox in found)], width=width(), flexible=3):
            print(line)
    else:
        print(f"No sandbox is {status}." if status else "No sandboxes yet.")
    return 0


def _row(sandbox: Json, *, now: datetime) -> list[str]:
    title = subject_label(sandbox)
    return [
        sandbox["id"],
        sandbox["status"],
        outcome_label(sandbox),
        f"verify: {title}" if sandbox["purpose"] == Purpose.VERIFY else title,
        sandbox["provider"],
        str(sandbox["attempt"]),
        usd(sandbox),
        span((now - moment(sandbox["created_at"])).total_seconds()),
    ]
