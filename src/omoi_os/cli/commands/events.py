"""`omoi events`: print the events of a sandbox, one line each."""

import sys
from collections.abc import Iterator
from typing import Any

from omoi_os.cli.output.tables import as_json, as_line, cut, moment, width
from omoi_os.cli.remote.client import Client
from omoi_os.cli.remote.connection import Json, connect, get_sandbox, path_of
from omoi_os.cli.remote.event_feed import Event, follow
from omoi_os.sandboxes.artifacts.wording import telling_part

#: Number of events read at a time. Memory holds one page.
PAGE = 200


def run(parameters: dict[str, Any]) -> int:
    """Print the events; with `--follow`, until the sandbox has ended."""
    sandbox_id, event_type = parameters.pop("sandbox"), parameters.pop("type", None)
    follows, wants_json = parameters.pop("follow", False), parameters.pop("json", False)
    with connect(parameters) as client:
        warn_if_pruned(get_sandbox(client, sandbox_id))
        columns = width()
        for event in read(client, sandbox_id, event_type=event_type, follows=follows):
            print(as_json(event) if wants_json else one_line(event, columns=columns), flush=follows)
    return 0


def read(client: Client, sandbox_id: str, *, event_type: str | None = None, follows: bool = False) -> Iterator[Event]:
    """Yield the events of a sandbox, or those of one type; with `follows`, until the sandbox has ended."""
    query = {"event_type": event_type} if event_type else {}
    listing = path_of(sandbox_id, "/events")
    if not follows:
        yield from client.items(listing, order="asc", limit=PAGE, **query)
        return
    # The list refuses an invalid type; the stream does not.
    client.get(listing, limit=1, **query)
    for event in follow(client, sandbox_id):
        if event_type in (None, event["event_type"]):
            yield event


def warn_if_pruned(sandbox: Json) -> None:
    """Print a warning when the events were deleted by retention."""
    if sandbox["pruned_at"]:
        print(
            "omoi: the events of this sandbox were deleted after the retention period (OMOI_RETENTION_DAYS)",
            file=sys.stderr,
        )


def one_line(event: Event, *, columns: int) -> str:
    """Return number, time, type and summary of an event as one safe line of at most `columns` columns."""
    said = as_line(telling_part(event["event_type"], event["event_data"]))
    head = f"{event['seq']:>5}  {moment(event['occurred_at']):%H:%M:%S}  {as_line(event['event_type']):<23}"
    return cut(f"{head}  {said}".rstrip(), columns)
