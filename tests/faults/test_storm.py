"""Many tasks at once while the orchestrator is killed again and again. `make storm` runs the long form."""

import contextlib
import itertools
import os
import random
import signal
import time
from collections.abc import Callable
from datetime import datetime
from pathlib import Path

import pytest

from tests.e2e.platform import ENDED, Json, Platform, wait_for

TASKS = int(os.environ.get("STORM_TASKS", "6"))
AT_ONCE = int(os.environ.get("STORM_AT_ONCE", "3"))
SECONDS = float(os.environ.get("STORM_SECONDS", "170"))

SCRIPT = """
match: storm
steps:
  - tool: Bash
    input: {command: 'echo weathered >> storm.txt'}
  - text: weathered
"""


@pytest.mark.timeout(SECONDS + 60)
def test_every_task_ends_in_one_result_and_nothing_is_left(make_platform: Callable[..., Platform]) -> None:
    platform = make_platform(OMOI_MAX_CONCURRENT_TASKS=str(AT_ONCE), OMOI_MAX_ATTEMPTS="20")
    before = time.monotonic()
    platform.start()
    start_seconds = time.monotonic() - before
    platform.script("storm", SCRIPT)
    project = platform.project(max_concurrent_tasks=AT_ONCE, acceptance=["grep -q weathered storm.txt"])
    tasks = [platform.ticket(f"storm {number}", project_id=project)["id"] for number in range(TASKS)]

    kills = _kill_until_done(platform, tasks, start_seconds=start_seconds)

    results = [platform.task(task_id) for task_id in tasks]
    assert [task["status"] for task in results] == ["completed"] * TASKS, _summary(results)
    assert kills >= min(3, TASKS // 4)
    for task in results:
        work = platform.sandboxes(task["id"])
        assert [sandbox["attempt"] for sandbox in work] == list(range(1, task["attempt"] + 1))
        assert_never_two_at_once(work)
        accepted = [sandbox for sandbox in work if _accepted(platform, sandbox["id"])]
        assert len(accepted) == 1
        assert platform.git(project, "rev-parse", task["branch_name"]) == task["result"]["commit_sha"]
    names = [sandbox["id"] for task_id in tasks for sandbox in platform.get("/sandboxes", task_id=task_id)["items"]]
    assert_nothing_left(platform, names)


def _kill_until_done(platform: Platform, tasks: list[str], *, start_seconds: float) -> int:
    """Kill it every few seconds; on a slow machine, where it takes long to start, so much later."""
    dice = random.Random(20261115)
    kills = 0
    deadline = time.monotonic() + SECONDS
    while any(platform.task(task_id)["status"] not in ENDED for task_id in tasks):
        assert time.monotonic() < deadline, _summary([platform.task(task_id) for task_id in tasks])
        with contextlib.suppress(ProcessLookupError):
            os.kill(platform.part("orchestrator"), signal.SIGKILL)
            kills += 1
        _wait(start_seconds + dice.uniform(1, 5))
    return kills


def _wait(seconds: float) -> None:
    """The pause between two kills is part of the storm; nothing is waited for."""
    time.sleep(seconds)


def _accepted(platform: Platform, sandbox_id: str) -> bool:
    return any(
        event["event_type"] == "task.verified" and event["event_data"]["verified"]
        for event in platform.events(sandbox_id)
    )


def assert_never_two_at_once(sandboxes: list[Json]) -> None:
    spans = [(_when(s["created_at"]), _when(s["ended_at"])) for s in sandboxes if s["ended_at"]]
    for (_, end), (start, _) in itertools.pairwise(spans):
        assert end <= start, spans


def _when(text: str) -> datetime:
    return datetime.fromisoformat(text)


def assert_nothing_left(platform: Platform, names: list[str]) -> None:
    """No process, folder, mount, control group or gateway socket of any sandbox."""

    def leftovers() -> list[str]:
        gateway_sockets = [str(path) for path in (platform.data_dir / "doors").glob("*")]
        folders = [str(path) for path in (platform.data_dir / "sandboxes").glob("omoios-*")]
        mounts = [line for line in Path("/proc/mounts").read_text().splitlines() if str(platform.data_dir) in line]
        groups = [str(path) for name in names for path in Path("/sys/fs/cgroup").glob(f"*/omoi/{name}*")]
        return [*platform.processes(), *gateway_sockets, *folders, *mounts, *groups]

    wait_for("nothing to be left", lambda: not leftovers(), patience=60)


def _summary(tasks: list[Json]) -> str:
    return "\n".join(f"{task['title']}: {task['status']} attempt {task['attempt']} {task['error']}" for task in tasks)
