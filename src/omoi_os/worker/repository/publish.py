"""Publish the agent's work: commit and push it, or save it as unfinished."""

from __future__ import annotations

import os
from dataclasses import dataclass
from pathlib import Path

from omoi_os.protocol.assignment import ExecutionMode
from omoi_os.worker.attempt.failures import Failure
from omoi_os.worker.repository.git import GitError, Repository
from omoi_os.worker.repository.unfinished_work import save_unfinished_work


@dataclass(frozen=True, slots=True)
class Published:
    """The branch and commit that were pushed, and the files that changed."""

    branch_name: str
    commit_sha: str | None
    files_changed: tuple[str, ...] = ()


async def publish(repository: Repository, base: str | None, *, aside: bool = False) -> Published | Failure:
    """Commit and push, if the mode expects it. Can be repeated. `base` is the commit that the work started from.

    With `aside` the work goes to the work-in-progress branch: the task's branch must not change after its result was
    reported.
    """
    assignment = repository.assignment
    branch = repository.wip if aside else assignment.branch_name
    if assignment.mode != ExecutionMode.IMPLEMENTATION or not base:
        return Published(assignment.branch_name, base)
    try:
        await repository.commit(f"{assignment.title}\n\nTask: {assignment.task_id}\n")
        commit = await repository.head()
        changed = await repository.files_changed(base)
        if commit != base and aside:
            await repository.push_aside()
        elif commit != base:
            await repository.push()
            repository.remember_base(commit)
    except (GitError, OSError) as error:
        final = isinstance(error, GitError) and error.final
        return Failure(str(error), "tool" if final else "network", "The work could not be pushed to its branch.")
    return Published(branch, commit, tuple(changed))


async def save_unfinished(repository: Repository, base: str | None) -> str | None:
    """Push unfinished work to its branch. Return the commit, if any. Raises `GitError` or `OSError`."""
    if repository.assignment.mode != ExecutionMode.IMPLEMENTATION or not base:
        return None
    return (await save_unfinished_work(repository, base)).commit


async def state_of(repository: Repository) -> str:
    """Return a fingerprint of the files, committed or not. It is fast because it uses sizes and times only."""
    try:
        head = await repository.head()
        listed = await repository.run(
            "--no-optional-locks", "status", "--porcelain", "-z", "--no-renames", "--untracked-files=all"
        )
    except GitError:
        # A repository that git cannot read has changed: return a value that is never equal.
        return os.urandom(8).hex()
    entries = [entry for entry in listed.split("\0") if entry]
    return "\n".join([head, *(f"{entry} {_stamp(repository.workspace / entry[3:])}" for entry in entries)])


def _stamp(path: Path) -> str:
    try:
        about = path.lstat()
    except OSError:
        return "gone"
    return f"{about.st_size} {about.st_mtime_ns}"
