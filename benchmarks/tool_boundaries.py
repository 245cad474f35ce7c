"""Measure how fast a message reaches an agent that is running a command: P10."""

import os
import select
import shutil
import tempfile
import time
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from datetime import datetime
from pathlib import Path

from benchmarks.figures import Beside, Figure
from tests.e2e.platform import Json, Platform, wait_for

#: Longer than a message takes to reach the worker.
_COMMAND_SECONDS = 2
_BOUNDARY_LIMIT_MS = 100.0
_INTERRUPT_LIMIT_MS = 500.0
_PATIENCE_SECONDS = 60.0

#: The command prints when it ends; its argument identifies it among all processes.
_SCRIPTS = {
    "boundary": (
        f'python3 -c "import time; time.sleep({_COMMAND_SECONDS}); print(time.time())"',
        "match: receive a message",
    ),
    "interrupt": ('python3 -c "import time; time.sleep(3600)" the-long-command', "match: be interrupted"),
}


@contextmanager
def running() -> Iterator[Platform]:
    """Run a platform with the scripts of this benchmark."""
    folder = Path(tempfile.mkdtemp(prefix="omoi-bench-", dir="/tmp"))
    platform = Platform(folder, OMOI_LINGER_SECONDS="0")
    for name, (command, match) in _SCRIPTS.items():
        step = f"  - tool: Bash\n    input: {{command: '{command}', timeout: 600000}}\n"
        platform.script(name, f"{match}\nsteps:\n{step}  - text: done\n")
    platform.start()
    try:
        yield platform
    finally:
        platform.stop()
        shutil.rmtree(folder, ignore_errors=True)


def _busy(platform: Platform, project_id: str, prompt: str) -> tuple[str, str]:
    """Return a task and its sandbox once the agent runs its command."""
    task_id = str(platform.post("/sandboxes", {"project_id": project_id, "prompt": prompt})["task_id"])
    sandbox_id = str(platform.until(task_id, "running")["sandbox_id"])
    platform.event(sandbox_id, "agent.tool_use")
    return task_id, sandbox_id


def _send(platform: Platform, sandbox_id: str, **fields: str) -> str:
    queued = platform.post(f"/sandboxes/{sandbox_id}/messages", {"content": "hello", **fields})
    return str(queued["message_id"])


def receive(platform: Platform, project_id: str) -> float:
    """Return the milliseconds from the end of the command to the model request with the message."""
    task_id, sandbox_id = _busy(platform, project_id, "Please receive a message")
    message_id = _send(platform, sandbox_id)
    seen = wait_for("the message to be seen", lambda: _seen(platform, sandbox_id, message_id))
    ended = float(platform.event(sandbox_id, "agent.tool_completed")["event_data"]["output"])
    platform.finished(task_id)
    return (datetime.fromisoformat(seen).timestamp() - ended) * 1000


def _seen(platform: Platform, sandbox_id: str, message_id: str) -> str | None:
    items: list[Json] = platform.get(f"/sandboxes/{sandbox_id}/messages/history")["items"]
    return next((item["seen_at"] for item in items if item["message_id"] == message_id), None)


def interrupt(platform: Platform, project_id: str) -> float:
    """Return the milliseconds from before the `POST` to the end of the running command."""
    task_id, sandbox_id = _busy(platform, project_id, "Please be interrupted")
    command = wait_for("the command", _long_command)
    handle = os.pidfd_open(command)
    try:
        started = time.perf_counter()
        _send(platform, sandbox_id, message_type="interrupt")
        if not select.select([handle], [], [], _PATIENCE_SECONDS)[0]:
            raise RuntimeError(f"the command still ran {_PATIENCE_SECONDS:g} s after the interrupt")
        took = (time.perf_counter() - started) * 1000
    finally:
        os.close(handle)
    platform.finished(task_id)
    return took


def _long_command() -> int | None:
    for entry in Path("/proc").iterdir():
        with suppress(OSError):
            arguments = (entry / "cmdline").read_bytes().split(b"\0") if entry.name.isdigit() else []
            if arguments[-2:-1] == [b"the-long-command"] and arguments[0].endswith(b"python3"):
                return int(entry.name)
    return None


def figures(rounds: int) -> list[Figure]:
    """Measure P10 and return its figures."""
    with running() as platform:
        project_id = platform.project()
        # The first round fills caches and is not counted.
        received = [receive(platform, project_id) for _ in range(rounds + 1)][1:]
        stopped = [interrupt(platform, project_id) for _ in range(rounds)]
    return [
        Figure("P10 tool boundary → in a model request", received, Beside("limit", [_BOUNDARY_LIMIT_MS] * rounds), 1.0),
        Figure("P10 interrupt → the command is dead", stopped, Beside("limit", [_INTERRUPT_LIMIT_MS] * rounds), 1.0),
    ]
