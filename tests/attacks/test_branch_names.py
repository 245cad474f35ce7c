"""A ticket's title chooses the branch that its agent pushes to: it must never be a branch of somebody else."""

import subprocess
from pathlib import Path

import pytest

from tests.e2e.platform import Platform

SCRIPT = """
match: branch name attack
steps:
  - tool: Bash
    input: {command: 'echo agent > agent.txt'}
  - text: done
"""


def git(*arguments: str, at: Path) -> str:
    command = ["git", "-c", "user.name=t", "-c", "user.email=t@t", *arguments]
    return subprocess.run(command, cwd=at, check=True, capture_output=True, text=True).stdout.strip()


def a_seed(folder: Path, *, branches: list[str], default: str) -> Path:
    folder.mkdir()
    git("init", "-q", "-b", default, at=folder)
    git("commit", "-q", "--allow-empty", "-m", "first", at=folder)
    for branch in branches:
        git("branch", branch, at=folder)
    return folder


@pytest.mark.parametrize(
    ("branches", "default", "expected"),
    [
        pytest.param(["feature/login"], "main", "feature/login-2", id="a person's branch"),
        pytest.param([], "feature/login", "feature/login-2", id="the default branch"),
        pytest.param(["Feature/LOGIN"], "main", "feature/login-2", id="a branch that differs in case"),
        pytest.param(["feature/login/form", "feature/login-2"], "main", "feature/login-3", id="a folder of branches"),
        pytest.param(["feature"], "main", "feature-login", id="a branch named like the prefix"),
        pytest.param([], "main", "feature/login", id="a free name"),
    ],
)
def test_an_agent_pushes_to_a_new_branch_of_its_own(
    platform: Platform, tmp_path: Path, branches: list[str], default: str, expected: str
) -> None:
    platform.script("branch-names", SCRIPT)
    seed = a_seed(tmp_path / "seed", branches=branches, default=default)
    project = platform.post("/projects", {"name": "seeded", "repo_url": str(seed), "default_branch": default})
    task = platform.ticket(
        "Login", description="branch name attack", project_id=project["id"], acceptance=["test -e agent.txt"]
    )

    done = platform.finished(task["id"])

    assert (done["status"], done["branch_name"]) == ("completed", expected)
    assert platform.git(project["id"], "show", f"{expected}:agent.txt") == "agent"
    for branch in [*branches, default]:
        assert platform.git(project["id"], "rev-parse", f"refs/heads/{branch}") == git("rev-parse", branch, at=seed)
