"""A person's commits reach the agent and the agent's branch reaches the person, over HTTP alone."""

import os
import subprocess
import sys
from pathlib import Path

from tests.e2e.platform import Platform


def run(platform: Platform, folder: Path, *command: str) -> str:
    """Run a command as on another machine: with the address and an API key, and without the data folder."""
    askpass = folder / ".askpass"
    askpass.write_text('#!/bin/sh\nprintf "%s\\n" "$OMOI_ADMIN_TOKEN"\n')
    askpass.chmod(0o700)
    environment = {
        "PATH": os.environ["PATH"],
        "HOME": str(folder),
        "GIT_ASKPASS": str(askpass),
        "OMOI_ADMIN_TOKEN": platform.token,
        "OMOI_API_URL": platform.url,
        "OMOI_DATA_DIR": "/nonexistent/omoi",
    }
    done = subprocess.run(command, cwd=folder, env=environment, capture_output=True, text=True)
    assert done.returncode == 0, done.stderr
    return done.stdout.strip()


def test_a_task_starts_from_the_pushed_commit_and_its_branch_is_fetched_into_the_clone(
    platform: Platform, tmp_path: Path
) -> None:
    project = platform.get(f"/projects/{platform.project()}")
    run(platform, tmp_path, "git", "clone", "-q", project["clone_url"], "work")
    work = tmp_path / "work"
    (work / "mine.txt").write_text("mine\n")
    identity = ("-c", "user.name=me", "-c", "user.email=me@example.org")
    run(platform, work, "git", "add", "mine.txt")
    run(platform, work, "git", *identity, "commit", "-q", "-m", "Mine")
    run(platform, work, "git", "push", "-q", "origin", "main")
    pushed = run(platform, work, "git", "rev-parse", "HEAD")

    task = platform.until(platform.ticket("Calculate C(50,25)", project_id=project["id"])["id"], "completed")
    shown = run(platform, work, sys.executable, "-P", "-m", "omoi_os", "fetch", task["id"])

    checkout = shown.splitlines()[1].removeprefix("Check it out:  ").split()
    run(platform, work, *checkout)
    assert run(platform, work, "git", "rev-parse", "HEAD") == task["result"]["commit_sha"]
    assert (work / "binomial.py").is_file()
    run(platform, work, "git", "merge-base", "--is-ancestor", pushed, "HEAD")
