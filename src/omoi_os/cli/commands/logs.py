"""`omoi logs`: print the log of a sandbox, as `GET …/logs` returns it."""

import sys
from typing import Any

from omoi_os.cli.commands.events import read, warn_if_pruned
from omoi_os.cli.output.tables import moment
from omoi_os.cli.remote.connection import connect, get_sandbox
from omoi_os.sandboxes.artifacts.wording import render


def run(parameters: dict[str, Any]) -> int:
    """Print the log; with `--follow`, until the sandbox has ended."""
    sandbox_id, follows = parameters.pop("sandbox"), parameters.pop("follow", False)
    with connect(parameters) as client:
        warn_if_pruned(get_sandbox(client, sandbox_id))
        for event in read(client, sandbox_id, follows=follows):
            sys.stdout.write(render(event["event_type"], event["event_data"], at=moment(event["occurred_at"])))
            if follows:
                sys.stdout.flush()
    return 0
