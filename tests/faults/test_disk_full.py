"""A full disk: one sentence everywhere, no attempt is used up, and everything continues when there is space again."""

import os
import random
import string
import subprocess
import tempfile
from collections.abc import Iterator
from pathlib import Path

import httpx
import pytest

from tests.e2e.platform import Platform, wait_for

#: Enough for the platform itself and little else.
SIZE_MB = 400

SCRIPT = """
match: Fill the disk
steps:
  - tool: Bash
    input: {command: 'sleep 3; echo agent > agent.txt'}
  - tool: Bash
    input: {command: 'sleep 1; cat agent.txt'}
  - text: done
"""


@pytest.fixture
def small_disk() -> Iterator[Path]:
    if os.geteuid() != 0:
        pytest.skip("mounting a small disk needs root")
    folder = Path(tempfile.mkdtemp(prefix="omoi-", dir="/tmp"))
    mount = ["mount", "-t", "tmpfs", "-o", f"size={SIZE_MB}m", "tmpfs", str(folder)]
    if subprocess.run(mount, capture_output=True).returncode:
        folder.rmdir()
        pytest.skip("this machine refuses mounts, even to root")
    try:
        yield folder
    finally:
        subprocess.run(["umount", "-l", str(folder)], check=True)
        folder.rmdir()


@pytest.fixture
def platform(small_disk: Path, prepared: Path) -> Iterator[Platform]:
    made = Platform(small_disk, prepared=prepared)
    made.log = Path(tempfile.mkstemp(prefix="omoi-log-")[1])
    try:
        yield made
    finally:
        if made.process is not None and made.process.poll() is None:
            made.stop()
        made.log.unlink()


def fill(folder: Path) -> Path:
    """Write until nothing is free."""
    filler = folder / "filler"
    with filler.open("wb", buffering=0) as file:
        for size in (1 << 20, 4096):
            try:
                while True:
                    file.write(b"x" * size)
            except OSError:
                continue
    return filler


def ready(platform: Platform) -> httpx.Response | None:
    try:
        return httpx.get(f"{platform.url}/ready", trust_env=False, timeout=30)
    except httpx.TransportError:
        return None


def names_the_disk(platform: Platform) -> bool:
    answer = ready(platform)
    return answer is not None and f"the disk of {platform.data_dir} is" in answer.text


def test_work_waits_while_the_disk_is_full_and_goes_on_afterwards(platform: Platform, small_disk: Path) -> None:
    platform.script("disk", SCRIPT)
    platform.start()
    running = platform.ticket("Fill the disk", acceptance=["test -e agent.txt"])
    platform.until(running["id"], "running")
    (sandbox,) = platform.sandboxes(running["id"])
    platform.event(sandbox["id"], "agent.tool_use")

    filler = fill(small_disk)
    wait_for("/ready to name the disk", lambda: names_the_disk(platform))
    refused, waiting = until_refused(platform, running["project_id"])
    assert (refused.json()["code"], refused.headers["content-type"]) == ("disk_full", "application/problem+json")
    assert f"the disk of {platform.data_dir} is full" in refused.json()["detail"]
    assert all(platform.task(task_id)["status"] == "pending" for task_id in waiting)
    assert platform.task(running["id"])["status"] in ("running", "verifying")
    filler.unlink()

    for task_id in [running["id"], *waiting]:
        done = platform.finished(task_id)
        assert (done["status"], done["attempt"]) == ("completed", 1), platform.log.read_text()[-4000:]
    assert f"the disk of {platform.data_dir} is full" in platform.log.read_text()
    wait_for("/ready to be without warnings", lambda: (answer := ready(platform)) and answer.json()["warnings"] == [])


def until_refused(platform: Platform, project_id: str) -> tuple[httpx.Response, list[str]]:
    """Create tickets until one does not fit on the disk; return that answer and the tasks of the others."""
    made: list[str] = []
    body = {"title": "Fill the disk", "project_id": project_id, "acceptance": ["test -e agent.txt"]}
    while len(made) < 5:
        # Large enough to need a new page of the database, which is on the same disk.
        text = "".join(random.choices(string.ascii_letters, k=100_000))
        answer = platform.request("POST", "/tickets", json={**body, "description": text})
        if answer.status_code == 507:
            return answer, made
        assert answer.is_success, answer.text
        made.append(answer.json()["tasks"][0]["id"])
    raise AssertionError("the disk was not full")
