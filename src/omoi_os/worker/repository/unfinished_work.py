"""Save unfinished work on a separate branch, whatever state the checkout is in, without changing the checkout."""

from __future__ import annotations

import os
import shutil
import tempfile
from dataclasses import dataclass, replace
from pathlib import Path

from omoi_os.worker.repository.git import (
    AUTHOR_EMAIL,
    AUTHOR_NAME,
    CLONE_SECONDS,
    GitError,
    Repository,
    write_excluded,
)

#: Larger files, and files beyond this total, are left out: they are usually build results.
MAX_FILE_BYTES = 32 * 1024 * 1024
MAX_TOTAL_BYTES = 256 * 1024 * 1024
MAX_LEFT_OUT_LISTED = 20
PUSH_TRIES = 3

#: The last saved commit, so that saving the same files again creates no new one.
_SAVED_REF = "refs/omoi/wip"


@dataclass(frozen=True, slots=True)
class Saved:
    """The result of saving unfinished work."""

    #: The commit on the work-in-progress branch; None if nothing is unfinished.
    commit: str | None
    #: The first few files that were too large.
    left_out: tuple[str, ...] = ()
    #: Git's message about files it could not read.
    problem: str | None = None


async def save_unfinished_work(repository: Repository, base: str) -> Saved:
    """Push what differs from the pushed commit to the work-in-progress branch. Can be repeated.

    The agent's index, HEAD and branches do not change. Raises `GitError` or `OSError`.
    """
    try:
        saved = await _snapshot(repository, base, index=repository.paths.private / f"index.{os.getpid()}")
    except (GitError, OSError) as error:
        return await _save_with_new_repository(repository, base, reason=error)
    try:
        return await _push(repository, saved)
    except GitError as error:
        if error.final:
            raise
        return await _save_with_new_repository(repository, base, reason=error)


async def _save_with_new_repository(repository: Repository, base: str, *, reason: Exception) -> Saved:
    """Save the files through a new repository elsewhere, because the agent's is damaged or its disk is full."""
    with tempfile.TemporaryDirectory(prefix="omoi-salvage-") as folder:
        own = replace(repository, variables={"GIT_DIR": folder, "GIT_WORK_TREE": str(repository.workspace)})
        pushed = f"+refs/heads/{repository.assignment.branch_name}:refs/omoi/pushed"
        try:
            await own.run("init", "--quiet", cwd=Path(folder))
            write_excluded(Path(folder))
            await own.run("fetch", "--quiet", "--", repository.assignment.git_url, pushed, timeout=CLONE_SECONDS)
            return await _push(own, await _snapshot(own, base, index=Path(folder) / "index.ours"))
        except (GitError, OSError) as error:
            raise GitError(f"{reason}; with a new repository: {error}", final=False) from error


async def _push(repository: Repository, saved: Saved) -> Saved:
    if saved.commit is not None:
        refspec = f"{saved.commit}:refs/heads/{repository.wip}"
        url = repository.assignment.git_url
        await repository.retry(
            lambda: repository.run("push", "--quiet", "--force", "--", url, refspec), tries=PUSH_TRIES
        )
    return saved


async def _snapshot(repository: Repository, base: str, *, index: Path) -> Saved:
    """Commit everything in the workspace, using a separate index."""
    own = replace(
        repository,
        variables={
            **repository.variables,
            "GIT_INDEX_FILE": str(index),
            **{f"GIT_{who}_NAME": AUTHOR_NAME for who in ("AUTHOR", "COMMITTER")},
            **{f"GIT_{who}_EMAIL": AUTHOR_EMAIL for who in ("AUTHOR", "COMMITTER")},
        },
    )
    try:
        head = await _resolve(own, "HEAD") or base
        try:
            # The agent's index records which files have not changed.
            shutil.copyfile(own.workspace / ".git" / "index", index)
            tree, saved = await _write_tree(own)
        except (GitError, OSError):
            _remove(index)
            await own.run("read-tree", head)
            tree, saved = await _write_tree(own)
        commit = await _commit(own, head, tree=tree)
        return replace(saved, commit=None if commit == base else commit)
    finally:
        _remove(index)


def _remove(index: Path) -> None:
    for leftover in (index, index.with_name(index.name + ".lock")):
        leftover.unlink(missing_ok=True)


async def _write_tree(repository: Repository) -> tuple[str, Saved]:
    left_out = await _too_large(repository)
    # Names go to stdin, where their number is not limited.
    paths = b"".join([b".\0", *(b":(exclude,literal)" + os.fsencode(name) + b"\0" for name in left_out)])
    problem = None
    try:
        await repository.run(
            *("add", "--all", "--ignore-errors", "--pathspec-from-file=-", "--pathspec-file-nul"), stdin=paths
        )
    except GitError as error:
        # Unreadable files must not prevent saving the others.
        problem = str(error)
    tree = await repository.run("write-tree")
    return tree, Saved(None, tuple(left_out[:MAX_LEFT_OUT_LISTED]), problem)


async def _too_large(repository: Repository) -> list[str]:
    """Return the files that are too large to save."""
    listed = await repository.run("ls-files", "-z", "--cached")
    tracked = {name for name in listed.split("\0") if name}
    listed = await repository.run("ls-files", "-z", "--others", "--exclude-standard")
    left_out = [name for name in sorted(tracked) if _size(repository.workspace / name) > MAX_FILE_BYTES]
    total = 0
    for size, name in sorted((_size(repository.workspace / name), name) for name in listed.split("\0") if name):
        total += size
        if size > MAX_FILE_BYTES or total > MAX_TOTAL_BYTES:
            left_out.append(name)
    return left_out


def _size(path: Path) -> int:
    try:
        return path.lstat().st_size
    except OSError:
        return 0


async def _commit(repository: Repository, head: str, *, tree: str) -> str:
    """Return a commit of a tree, an existing one if it has the same content and parents."""
    tip = await _resolve(repository, f"refs/heads/{repository.assignment.branch_name}")
    aside = [tip] if tip and tip != head and not await _is_ancestor(repository, tip, head) else []
    if await repository.run("rev-parse", "--verify", f"{head}^{{tree}}") == tree:
        # Everything is committed. Commits on the task's branch count even if another one is checked out.
        return aside[0] if aside else head
    parents = [head, *aside]
    before = await _resolve(repository, _SAVED_REF)
    if before and await repository.run("log", "-1", "--format=%T %P", before) == " ".join([tree, *parents]):
        return before
    message = f"Work in progress: {repository.assignment.title}\n\nTask: {repository.assignment.task_id}\n"
    options = [option for parent in parents for option in ("-p", parent)]
    commit = await repository.run("commit-tree", *options, "-m", message, tree)
    await repository.run("update-ref", _SAVED_REF, commit)
    return commit


async def _resolve(repository: Repository, name: str) -> str | None:
    try:
        return await repository.run("rev-parse", "--verify", "--quiet", f"{name}^{{commit}}")
    except GitError:
        return None


async def _is_ancestor(repository: Repository, one: str, other: str) -> bool:
    try:
        await repository.run("merge-base", "--is-ancestor", one, other)
    except GitError:
        return False
    return True
