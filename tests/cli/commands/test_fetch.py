"""`omoi fetch` brings the branch of a task into the repository of the current folder."""

import asyncio
import base64
import json
import os
import shutil
import subprocess
import sys
from dataclasses import dataclass
from pathlib import Path
from uuid import UUID, uuid4

import pytest

from omoi_os.bus.memory import MemoryBus
from omoi_os.forges.local.forge import LocalForge
from omoi_os.projects.addresses import repository_of
from omoi_os.sandboxes.site_owners import claim_repositories
from omoi_os.system.installation import site_of
from omoi_os.tasks.models import Task
from tests.builders import a_project, a_task, a_ticket
from tests.cli.conftest import Desk
from tests.conftest import sessions_on


@dataclass(frozen=True)
class Work:
    """A task, its branch and its commit."""

    task_id: UUID
    branch: str
    commit: str


def run(desk: Desk, folder: Path, *arguments: str, **environ: str) -> subprocess.CompletedProcess[str]:
    """Run the command in a folder, as a person does."""
    return subprocess.run(
        [sys.executable, "-P", "-m", "omoi_os", "fetch", *arguments],
        cwd=folder,
        env={**desk.api.environment, "GIT_CONFIG_NOSYSTEM": "1", **environ},
        capture_output=True,
        text=True,
        timeout=60,
        check=False,
    )


def git(folder: Path, *arguments: str) -> str:
    identity = ("-c", "user.name=me", "-c", "user.email=me@example.org")
    return subprocess.run(
        ["git", *identity, *arguments], cwd=folder, capture_output=True, text=True, check=True
    ).stdout.strip()


@pytest.fixture
def work(desk: Desk) -> Work:
    return asyncio.run(_make(desk))


async def _make(desk: Desk) -> Work:
    folder, branch = Path(desk.api.environment["OMOI_DATA_DIR"]), f"feature/{uuid4().hex}"
    async with sessions_on(desk.database_url) as sessions, sessions.begin() as session:
        await claim_repositories(session, site=site_of(folder), data_dir=folder)
        project = await a_project(session)
        task = await a_task(session, MemoryBus(), await a_ticket(session, project))
        task.branch_name = branch
        forge, repository = LocalForge(folder / "repos"), repository_of(project)
        await forge.ensure_repository(repository)
        commit = await forge.create_branch(repository, branch)
    return Work(task.id, branch, commit)


@pytest.fixture
def clone(tmp_path: Path) -> Path:
    """A repository of the person's, which knows nothing of the platform."""
    git(tmp_path, "init", "-q", "-b", "main", "clone")
    git(tmp_path / "clone", "commit", "-q", "--allow-empty", "-m", "mine")
    return tmp_path / "clone"


def test_the_branch_is_fetched_and_checked_out_as_the_output_says(desk: Desk, work: Work, clone: Path) -> None:
    done = run(desk, clone, str(work.task_id))

    assert (done.returncode, done.stderr) == (0, "")
    first, second = done.stdout.splitlines()
    assert first == f"Fetched {work.branch} at {work.commit[:12]}."
    subprocess.run(second.removeprefix("Check it out:  "), shell=True, cwd=clone, check=True, capture_output=True)
    assert git(clone, "rev-parse", "HEAD") == work.commit
    assert git(clone, "symbolic-ref", "--short", "HEAD") == work.branch


def test_a_second_fetch_leaves_the_person_s_own_branch_alone(desk: Desk, work: Work, clone: Path) -> None:
    git(clone, "switch", "-q", "-c", work.branch)
    mine = git(clone, "rev-parse", "HEAD")

    done = run(desk, clone, str(work.task_id))

    assert done.returncode == 0
    assert f"git merge omoi/{work.branch}" in done.stdout
    assert git(clone, "rev-parse", "HEAD") == mine
    assert git(clone, "rev-parse", f"omoi/{work.branch}") == work.commit


def test_programs_get_json(desk: Desk, work: Work, clone: Path) -> None:
    done = run(desk, clone, str(work.task_id), "--json")

    assert json.loads(done.stdout) == {
        "task_id": str(work.task_id),
        "branch": work.branch,
        "ref": f"refs/remotes/omoi/{work.branch}",
        "commit": work.commit,
    }


def test_outside_a_repository_one_sentence_says_where_to_run_it(desk: Desk, work: Work, tmp_path: Path) -> None:
    done = run(desk, tmp_path, str(work.task_id), GIT_CEILING_DIRECTORIES=str(tmp_path.parent))

    assert (done.returncode, done.stdout) == (1, "")
    assert done.stderr == (
        "omoi: this folder is not inside a git repository; change to your clone and run `omoi fetch` there\n"
    )


@pytest.mark.parametrize("task", ["nonsense", "../projects", "00000000-0000-4000-8000-000000000000"])
def test_an_unknown_task_is_named(desk: Desk, clone: Path, task: str) -> None:
    done = run(desk, clone, task)

    assert (done.returncode, done.stdout) == (1, "")
    assert done.stderr.startswith(f"omoi: task '{task}' does not exist or is not visible to you")


def test_a_task_that_has_not_started_has_no_branch_yet(desk: Desk, work: Work, clone: Path) -> None:
    async def rename() -> None:
        async with sessions_on(desk.database_url) as sessions, sessions.begin() as session:
            (await session.get_one(Task, work.task_id)).branch_name = "feature/not-there"

    asyncio.run(rename())

    done = run(desk, clone, str(work.task_id))

    assert (done.returncode, done.stdout) == (1, "")
    assert done.stderr == (
        f"omoi: the branch of task {work.task_id} does not exist yet; it is created when the task starts\n"
    )


def test_the_key_is_in_no_argument_url_or_file(desk: Desk, work: Work, clone: Path, tmp_path: Path) -> None:
    """A wrapper stands for git and records how it was called."""
    wrapper, record, real = tmp_path / "bin" / "git", tmp_path / "arguments", shutil.which("git")
    wrapper.parent.mkdir()
    wrapper.write_text(f'#!/bin/sh\nprintf "%s\\n" "$@" >>{record}\nexec {real} "$@"\n')
    wrapper.chmod(0o700)
    traced = {"PATH": f"{wrapper.parent}:{os.environ['PATH']}", "GIT_TRACE_CURL": "1", "GIT_CONFIG_COUNT": "1"}
    own = {"GIT_CONFIG_KEY_0": "alias.mine", "GIT_CONFIG_VALUE_0": "status"}

    done = run(desk, clone, str(work.task_id), **traced, **own)

    assert done.returncode == 0
    key = desk.api.environment["OMOI_ADMIN_TOKEN"]
    secrets = [key, _basic(key)]
    assert "fetch" in record.read_text()  # positive control
    texts = [record.read_text(), done.stdout, done.stderr]
    texts += [path.read_text(errors="replace") for path in clone.rglob("*") if path.is_file()]
    assert not [text for text in texts if any(secret in text for secret in secrets)]


def _basic(key: str) -> str:
    return base64.b64encode(f"omoi:{key}".encode()).decode()
