"""Power cuts under a whole platform: whatever it has acknowledged is there when it starts again."""

import json
import os
import random
import signal
import subprocess
import time
from collections.abc import Iterator
from dataclasses import dataclass, field
from functools import partial
from pathlib import Path

import pytest

from omoi_os.system import durable
from tests.e2e.platform import PATIENCE, Json, Platform, wait_for
from tests.faults.power import Disk, a_disk, needs_power

pytestmark = needs_power

CUTS = int(os.environ.get("POWER_CUTS", "1"))
SEED = int(os.environ.get("POWER_SEED", "12"))
TASKS = int(os.environ.get("POWER_TASKS", "2"))

SCRIPT = """
match: keep (\\w+)
steps:
  - tool: Bash
    input: {command: 'mkdir -p notes && date +%N >> notes/log.txt && git rev-parse HEAD >> notes/log.txt'}
  - tool: Bash
    input: {command: 'head -c 20000 /dev/urandom | base64 > notes/data.txt'}
    delay_s: 0.2
  - text: kept
"""


@dataclass
class Ledger:
    """What the platform has said is done."""

    token: str = ""
    projects: list[str] = field(default_factory=list)
    open: set[str] = field(default_factory=set)
    done: dict[str, Json] = field(default_factory=dict)

    def look(self, platform: Platform) -> None:
        """Note every task that is completed by now."""
        for task_id in sorted(self.open):
            answer = platform.request("GET", f"/tasks/{task_id}")
            if answer.is_success and answer.json()["status"] == "completed":
                self.done[task_id] = answer.json()
        self.open -= self.done.keys()

    def has(self, platform: Platform, number: int) -> bool:
        """Whether so many are completed by now."""
        self.look(platform)
        return len(self.done) >= number


@pytest.fixture
def disk() -> Iterator[Disk]:
    with a_disk(megabytes=3000) as made:
        yield made
        wait_for("every process on the disk to end", lambda: not _kill_users(made.path))


def _end(platform: Platform, disk: Disk) -> None:
    """End everything that runs on the disk, as a machine without power does."""
    assert platform.process is not None
    platform.process.kill()
    platform.process.wait()
    wait_for("every process on the disk to end", lambda: not _kill_users(disk.path))


def _kill_users(path: Path) -> bool:
    """Kill processes that work in a folder of the disk or name it; return whether there was one."""
    found = False
    for entry in Path("/proc").iterdir():
        if not entry.name.isdigit() or int(entry.name) == os.getpid():
            continue
        try:
            line = (entry / "cmdline").read_bytes().decode(errors="replace")
            cwd = str((entry / "cwd").readlink())
            line += (entry / "environ").read_bytes().decode(errors="replace")
        except OSError:
            continue
        if f"{path}/" in line or cwd.startswith(f"{path}/"):
            found = True
            os.kill(int(entry.name), signal.SIGKILL)
    return found


def _check(platform: Platform, ledger: Ledger) -> None:
    """Everything acknowledged is on the disk, looked at without the platform."""
    assert platform.token == ledger.token
    for project_id in ledger.projects:
        repository = platform.data_dir / "repos" / f"{project_id}.git"
        if repository.exists():
            checked = subprocess.run(
                ["git", f"--git-dir={repository}", "fsck", "--full"], capture_output=True, text=True, check=False
            )
            assert checked.returncode == 0, checked.stderr
    for task in ledger.done.values():
        commit = task["result"]["commit_sha"]
        assert platform.git(task["project_id"], "rev-parse", f"refs/heads/{task['branch_name']}") == commit
        platform.git(task["project_id"], "cat-file", "-e", f"{commit}:notes/data.txt")
    for folder in (platform.data_dir / "sandboxes").glob("*"):
        for name in ("spec.json", "state.json", "exit.json"):
            if (folder / name).exists():
                json.loads((folder / name).read_text())


@pytest.mark.timeout(300 + 240 * CUTS)
def test_what_a_platform_acknowledged_survives_every_power_cut(disk: Disk) -> None:
    chance = random.Random(SEED)
    platform = Platform(
        disk.path,
        SANDBOX_DISK_GB="0.05",
        SANDBOX_MEMORY_GB="1",
        OMOI_MAX_CONCURRENT_TASKS="4",
        # What was only in a sandbox may be lost with the power: its task shall not wait for it for minutes.
        OMOI_SALVAGE_WAIT_SECONDS="1",
    )
    platform.log = Path(f"{disk.path}.log")
    platform.script("keep", SCRIPT)
    # Scripts are the user's own files, and not promised anything.
    durable.sync_file_system(disk.path)
    ledger = Ledger()
    for number in range(CUTS):
        platform.start()
        ledger.token = ledger.token or platform.token
        for task in ledger.done.values():
            assert platform.task(task["id"])["status"] == "completed"
        project = platform.project(f"project {number}", acceptance=["test -s notes/data.txt"])
        ledger.projects.append(project)
        for each in range(TASKS):
            ledger.open.add(platform.ticket(f"keep {number}-{each}", project_id=project)["id"])
        # In the long form the first cut comes right after the first start.
        wanted = len(ledger.done) + (1 if CUTS == 1 else chance.randint(min(number, 1), TASKS))
        wait_for("tasks to be completed", partial(ledger.has, platform, wanted), patience=PATIENCE * 2)
        # The cut comes at any moment of this work; an answer that arrived before it counts.
        time.sleep(chance.choice([0, 0, 0.05, 0.3, 1.0]))
        ledger.look(platform)
        disk.cut()
        _end(platform, disk)
        disk.restore()
        _check(platform, ledger)
        print(f"cut {number + 1}: {len(ledger.done)} tasks done, {len(ledger.open)} open")

    platform.start()
    wait_for("every task to end", partial(ledger.has, platform, CUTS * TASKS), patience=PATIENCE * 4)
    for task_id, task in ledger.done.items():
        found = platform.task(task_id)
        assert (found["status"], found["result"]["commit_sha"]) == ("completed", task["result"]["commit_sha"])
    platform.stop()
