"""Changes: which files a tool call has changed, whatever tool it was, found by comparing the workspace's trees."""

from __future__ import annotations

import asyncio
import os
import time
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from omoi_os.worker.reporter.blobs import MAX_BLOB_BYTES
from omoi_os.worker.repository.patches import file_edit, left_out_diff, read_edits
from omoi_os.worker.repository.snapshots import LeftOut, Snapshot, SnapshotError, Snapshots

#: What one tool call is told to have changed, at the most, and the diff of all that together.
MAX_FILES = 500
MAX_DIFF_BYTES = 48 * 1024 * 1024

#: After so many errors nothing is compared any more.
MAX_ERRORS = 3

#: A comparison that takes git longer than this, by its own work, is not made at every call: the agent waits for it.
QUICK_SECONDS = 0.3
#: The part of the time that such comparisons take at the most.
SHARE = 0.1

#: Tools that change no file.
READERS = frozenset({"Read", "Glob", "Grep"})


@dataclass(frozen=True, slots=True)
class Compared:
    """What changed since the comparison before this one."""

    #: The data of an `agent.file_edited` for each file.
    edits: tuple[dict[str, Any], ...] = ()
    #: How many more files changed than are told.
    untold: int = 0
    #: Why something may be missing; told once.
    error: str | None = None


class Changes:
    """Compares a workspace with what it was at the last call. Never raises, and never runs twice at a time."""

    def __init__(self, workspace: Path, folder: Path) -> None:
        """`folder` is where the tree's repository lies."""
        self._workspace = workspace
        self._tree = Snapshots(workspace, folder)
        self._last: Snapshot | None = None
        self._errors = 0
        self._not_before = 0.0
        self._lock = asyncio.Lock()

    async def begin(self) -> Compared:
        """Note how the workspace is now."""
        async with self._lock:
            # One that an earlier worker left may know nothing of what is checked out now.
            self._tree.forget()
            return await self._begin()

    async def compare(self, *, surely: bool = False) -> Compared:
        """What changed since the last time; in a huge workspace not at every call, unless it has to be."""
        async with self._lock:
            if self._last is None or (time.monotonic() < self._not_before and not surely):
                return Compared()
            before = _git_seconds()
            try:
                return await self._compare(self._last)
            except (SnapshotError, OSError) as error:
                return await self._begin(reason=error)
            finally:
                took = _git_seconds() - before
                self._not_before = time.monotonic() + (took / SHARE if took > QUICK_SECONDS else 0.0)

    async def cover(self, path: str, compared: Compared) -> bool:
        """Whether changes of this file are seen here: one was, or it is in the workspace and git does not ignore it."""
        if self._last is None:
            return False
        name = _relative(self._workspace, path)
        if any(edit["file_path"] == name for edit in compared.edits):
            return True
        if name == os.pardir or name.startswith(f"{os.pardir}/"):
            return False
        try:
            return not await self._tree.is_ignored(name)
        except OSError:
            return True

    async def _begin(self, *, reason: Exception | None = None) -> Compared:
        """Start anew, with a new repository after an error, which is told only the first time."""
        told = self._errors > 0
        self._last = None
        error = reason
        while self._last is None and self._errors < MAX_ERRORS:
            if error is not None:
                self._errors += 1
                self._tree.forget()
            try:
                await self._tree.open()
                self._last = await self._tree.snapshot()
            except (SnapshotError, OSError) as failed:
                error = failed
        return Compared(error=None if told or error is None else str(error))

    async def _compare(self, last: Snapshot) -> Compared:
        now = await self._tree.snapshot()
        edits: list[dict[str, Any]] = []
        untold = 0
        if now.tree != last.tree:
            listed = await self._tree.diff(last.tree, now.tree, listed=True, max_bytes=MAX_DIFF_BYTES)
            edits, untold = read_edits(listed, most=MAX_FILES, whole=len(listed) < MAX_DIFF_BYTES)
        self._last = now
        known = {edit["file_path"] for edit in edits}
        changed = _left_out(last.left_out, now.left_out, self._workspace)
        left = [edit for edit in changed if edit["file_path"] not in known]
        room = MAX_FILES - len(edits)
        # What is gone comes first: a folder may stand in its place, and then the diffs can be applied in this order.
        told = sorted((*edits, *left[:room]), key=lambda edit: edit["change_type"] != "deleted")
        return Compared(tuple(told), untold=untold + len(left[room:]))


def missing_changes(error: str) -> dict[str, Any]:
    """The data of the error that file changes may be missing."""
    return {"error": error, "error_type": "tool", "hint": "File changes may be missing from the events."}


def _git_seconds() -> float:
    """The processor time of the processes that were waited for: on a busy machine the clock tells nothing of a tree."""
    used = os.times()
    return used.children_user + used.children_system


def _relative(workspace: Path, path: str) -> str:
    return os.path.relpath(os.path.realpath(workspace / path), os.path.realpath(workspace))


def _left_out(before: Mapping[str, LeftOut], after: Mapping[str, LeftOut], workspace: Path) -> Iterator[dict[str, Any]]:
    """The changes of files that are too large, or too many, for the tree."""
    for name in sorted(before.keys() | after.keys()):
        left = after.get(name)
        if left == before.get(name):
            continue
        existed = name in before or (left is not None and left.in_tree)
        exists = left is not None or os.path.lexists(workspace / name)
        change = "created" if not existed else "modified" if exists else "deleted"
        edit = file_edit(name, change, diff=left_out_diff(name, change), binary=True)
        yield {**edit, "too_large": True, "size": left.size if left else 0}


async def session_changes(workspace: Path, folder: Path, *, base: str) -> dict[str, Any]:
    """What an ending event tells of all that differs from a commit. Nobody else may compare the workspace meanwhile."""
    try:
        return {"session_diff": await _session_diff(Snapshots(workspace, folder), base)}
    except (SnapshotError, OSError) as error:
        return {"session_diff_error": str(error)}


async def _session_diff(tree: Snapshots, base: str) -> str:
    """One unified diff; what is too large to be kept is cut just beyond that."""
    try:
        await tree.open()
        now = await tree.snapshot()
    except SnapshotError:
        tree.forget()
        await tree.open()
        now = await tree.snapshot()
    diff = await tree.diff(base, now.tree, listed=False, max_bytes=MAX_BLOB_BYTES + 1)
    left = [left_out_diff(name, "modified" if found.in_tree else "created") for name, found in now.left_out.items()]
    return diff.decode("utf-8", "replace") + "".join(left)
