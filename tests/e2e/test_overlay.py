"""Tasks of a large repository: the first has its files cloned, the next find them below their workspace."""

import json
import os
import signal
import subprocess
from pathlib import Path

import pytest

from omoi_os.forges.mirror_checkouts import MIN_FILES
from omoi_os.providers.local.host import disk_template as template
from tests.e2e.platform import Platform, wait_for

SCRIPT = """
match: look below
steps:
  - tool: Bash
    input:
      command: >-
        stat -f -c %T . >> kind;
        [ -e started ] && grep -q again again || { git mv inner moved; rm 0.txt; echo again > again; touch started;
        [ ! -e kill-me ] || exec tail -f /dev/null; }
      timeout: 600000
  - text: done
"""


@pytest.fixture
def project(platform: Platform, tmp_path: Path) -> str:
    """A project of enough files."""
    if not template.works():
        pytest.xfail("workspaces are not laid over checkouts for this user")
    seed = tmp_path / "seed"
    (seed / "inner").mkdir(parents=True)
    for number in range(MIN_FILES):
        (seed / f"{number}.txt").write_text(f"{number}\n")
    (seed / "inner" / "file").write_text("inner\n")
    (seed / "kill-me").touch()
    identity = ["-c", "user.name=t", "-c", "user.email=t@t"]
    for command in (["init", "-q", "-b", "main"], ["add", "-A"], ["commit", "-q", "-m", "first"]):
        subprocess.run(["git", *identity, *command], cwd=seed, check=True)
    made = platform.post("/projects", {"name": "large", "repo_url": str(seed)})
    platform.script("below", SCRIPT)
    return str(made["id"])


def killed(platform: Platform, task_id: str) -> None:
    """Kill the supervisor of the task's sandbox once its agent has started."""
    sandbox_id = platform.until(task_id, "running")["sandbox_id"]
    folder = platform.data_dir / "sandboxes" / sandbox_id
    platform.event(sandbox_id, "agent.tool_use")
    state = json.loads((folder / "state.json").read_text())
    inside = Path(f"/proc/{state['init'].split()[0]}/root/workspace/started")
    wait_for("the work to begin", inside.exists)
    os.kill(int(state["supervisor"].split()[0]), signal.SIGKILL)


def test_a_task_over_a_prepared_checkout_is_killed_saved_taken_up_again_and_verified(
    platform: Platform, project: str
) -> None:
    checkouts = platform.data_dir / "repos" / f"{project}.checkouts"
    first = platform.ticket("Please look below one", project_id=project)["id"]
    killed(platform, first)
    assert platform.finished(first)["status"] == "completed"
    newest = checkouts / "newest"
    wait_for("a prepared checkout", newest.is_dir)
    before = sorted(path.name for path in (newest / "tree").iterdir())

    task = platform.ticket("Please look below two", project_id=project, acceptance=["test ! -e 0.txt"])
    killed(platform, task["id"])
    done = platform.finished(task["id"])

    assert (done["status"], done["attempt"]) == ("completed", 2)
    assert platform.git(project, "show", f"{done['branch_name']}:kind").splitlines() == ["overlayfs", "overlayfs"]
    changed = platform.git(project, "diff", "--name-status", "--no-renames", "main", done["branch_name"]).splitlines()
    expected = {"D\t0.txt", "A\tagain", "A\tstarted", "A\tkind", "D\tinner/file", "A\tmoved/file"}
    assert {line.replace("    ", "\t") for line in changed} == expected
    assert sorted(path.name for path in (newest / "tree").iterdir()) == before
