"""`omoi verify`: check a running platform end to end, with a new ticket or a finished sandbox."""

import sys
from typing import Any

from omoi_os.cli.checks import acceptance, flow
from omoi_os.cli.commands.events import read
from omoi_os.cli.remote.client import Client
from omoi_os.cli.remote.connection import connect, get_sandbox, path_of, required_key
from omoi_os.cli.remote.event_feed import follow
from omoi_os.config import load_settings
from omoi_os.errors import NotFound, OmoiError
from omoi_os.printable import one_line
from omoi_os.sandboxes.lifecycle import ENDED, Purpose

DOCUMENTS = ("logs", "diff", "transcript")


def run(parameters: dict[str, Any]) -> int:
    """Return 0 when every check passed, else 1."""
    sandbox_id, is_new = parameters.pop("sandbox", None), False
    with connect(parameters) as client:
        scripted = client.get("/ready")["model"] == "scripted"
        _print_check("ready", [])
        me = client.get("/api/v1/auth/me")
        _print_check("signed in", [], detail=f"as {me['email']}, {me['role']}")
        if sandbox_id is None:
            sandbox_id, is_new = _new_run(parameters), True
            if sandbox_id is None:
                return 1
        evidence = gather(client, sandbox_id, scripted=scripted and is_new, waits=is_new)
    faults = 0
    for name, check in flow.CHECKS.items():
        found = check(evidence)
        if is_new and name == "result" and acceptance.printed_number(evidence.events) != acceptance.ANSWER:
            found.append(f"the program in the sandbox did not print {acceptance.ANSWER}")
        _print_check(name, found)
        faults += bool(found)
    print(
        f"{faults} of {len(flow.CHECKS)} checks failed."
        if faults
        else f"All {len(flow.CHECKS)} checks passed for sandbox {sandbox_id}."
    )
    return 1 if faults else 0


def gather(client: Client, sandbox_id: str, *, scripted: bool, waits: bool) -> flow.Run:
    """Collect everything that is checked. `waits` for the end of the sandbox, shortly after that of its task."""
    sandbox = get_sandbox(client, sandbox_id)
    if sandbox["purpose"] != Purpose.WORK:
        raise OmoiError(f"no agent worked in sandbox {sandbox_id}; choose a sandbox whose purpose is work")
    if sandbox["task_id"] is None:
        raise OmoiError(f"sandbox {sandbox_id} serves a spec; choose a sandbox that worked on a task")
    streamed = None
    if waits or sandbox["status"] in ENDED:
        streamed = list(follow(client, sandbox_id))
        sandbox = get_sandbox(client, sandbox_id)
    return flow.Run(
        sandbox=sandbox,
        task=client.get(path_of(sandbox_id, "/task")),
        events=list(read(client, sandbox_id)),
        streamed=streamed,
        documents={name: _size(client, path_of(sandbox_id, f"/{name}")) for name in DOCUMENTS},
        scripted=scripted,
    )


def _new_run(parameters: dict[str, Any]) -> str | None:
    """Run a ticket of the acceptance case and return its sandbox, or None when it got none."""
    settings = load_settings(**parameters)
    with Client(settings.effective_api_url, required_key(settings)) as patient:
        task, _ = acceptance.perform(patient, sys.stdout)
    if task["sandbox_id"] is None:
        _print_check("result", [f"the task is {task['status']}: {task['error'] or 'no reason'}"])
        return None
    return str(task["sandbox_id"])


def _size(client: Client, path: str) -> int:
    try:
        return client.size(path)
    except NotFound:
        return 0


def _print_check(name: str, faults: list[str], *, detail: str = "") -> None:
    if not faults:
        print(f"{'ok':8} {name:12} {one_line(detail)}".rstrip(), flush=True)
    for fault in faults:
        print(f"{'FAILED':8} {name:12} {one_line(fault)}", flush=True)
