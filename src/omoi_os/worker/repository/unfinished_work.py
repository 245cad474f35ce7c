"""Unfinished work: saved on a branch of its own, whatever state the checkout is in, without changing any of it."""

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

#: Larger files, and what comes on top of this in all, are left out: they are built, not written.
MAX_FILE_BYTES = 32 * 1024 * 1024
MAX_TOTAL_BYTES = 256 * 1024 * 1024
MAX_LEFT_OUT_LISTED = 20
PUSH_TRIES = 3

#: What was saved last, so that saving the same again is the same commit.
_SAVED_REF = "refs/omoi/wip"


@dataclass(frozen=True, slots=True)
class Saved:
    """What was saved."""

    #: The commit on the work-in-progress branch; None when nothing is unfinished.
    commit: str | None
    #: Files that were too large, the first few.
    left_out: tuple[str, ...] = ()
    #: What git could not read, in its words.
    problem: str | None = None


async def save_unfinished_work(repository: Repository, base: str) -> Saved:
    """Push what differs from the pushed commit to the work-in-progress branch. May be repeated.

    Raises `GitError` or `OSError`. The agent's index, its HEAD and its branches stay as they are.
    """
    try:
        saved = await _snapshot(repository, base, index=repository.paths.private / f"index.{os.getpid()}")
    except (GitError, OSError) as error:
        return await _save_beside(repository, base, reason=error)
    try:
        return await _push(repository, saved)
    except GitError as error:
        if error.final:
            raise
        return await _save_beside(repository, base, reason=error)


async def _save_beside(repository: Repository, base: str, *, reason: Exception) -> Saved:
    """Save the files alone, through a repository of our own beside them: theirs is damaged, or its disk is full."""
    with tempfile.TemporaryDirectory(prefix="omoi-rescue-") as folder:
        own = replace(repository, variables={"GIT_DIR": folder, "GIT_WORK_TREE": str(repository.workspace)})
        pushed = f"+refs/heads/{repository.assignment.branch_name}:refs/omoi/pushed"
        try:
            await own.run("init", "--quiet", cwd=Path(folder))
            write_excluded(Path(folder))
            await own.run("fetch", "--quiet", "--", repository.assignment.git_url, pushed, timeout=CLONE_SECONDS)
            return await _push(own, await _snapshot(own, base, index=Path(folder) / "index.ours"))
        except (GitError, OSError) as error:
            raise GitError(f"{reason}; and beside it: {error}", final=False) from error


async def _push(repository: Repository, saved: Saved) -> Saved:
    if saved.commit is not None:
        refspec = f"{saved.commit}:refs/heads/{repository.wip}"
        url = repository.assignment.git_url
        await repository.repeat(
            lambda: repository.run("push", "--quiet", "--force", "--", url, refspec), tries=PUSH_TRIES
        )
    return saved


async def _snapshot(repository: Repository, base: str, *, index: Path) -> Saved:
    """A commit of everything in the workspace, made with an index of our own."""
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
            # The agent's own index knows which files have not changed.
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
    # Names are given by stdin: there is no limit to their number there.
    paths = b"".join([b".\0", *(b":(exclude,literal)" + os.fsencode(name) + b"\0" for name in left_out)])
    problem = None
    try:
        await repository.run(
            *("add", "--all", "--ignore-errors", "--pathspec-from-file=-", "--pathspec-file-nul"), stdin=paths
        )
    except GitError as error:
        # Files that cannot be read are no reason to lose the others.
        problem = str(error)
    tree = await repository.run("write-tree")
    return tree, Saved(None, tuple(left_out[:MAX_LEFT_OUT_LISTED]), problem)


async def _too_large(repository: Repository) -> list[str]:
    """The files that are not saved as they are now."""
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
    """The commit for a tree: one that exists, if it says the same."""
    tip = await _resolve(repository, f"refs/heads/{repository.assignment.branch_name}")
    aside = [tip] if tip and tip != head and not await _is_ancestor(repository, tip, head) else []
    if await repository.run("rev-parse", "--verify", f"{head}^{{tree}}") == tree:
        # Nothing is uncommitted; what the agent committed on its branch counts, wherever it looks at now.
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
