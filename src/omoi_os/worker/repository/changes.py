"""Find the files that a tool call changed, whatever the tool, by comparing snapshots of the workspace."""

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

#: The most files that are reported for one tool call, and the most bytes of their diff.
MAX_FILES = 500
MAX_DIFF_BYTES = 48 * 1024 * 1024

#: After this many errors nothing is compared any more.
MAX_ERRORS = 3

#: If git needs more processor time than this, not every call is compared: the agent waits for each comparison.
QUICK_SECONDS = 0.3
#: The largest share of the time that such comparisons take.
SHARE = 0.1

#: Tools that never change a file.
READERS = frozenset({"Read", "Glob", "Grep"})


@dataclass(frozen=True, slots=True)
class Compared:
    """What changed since the previous comparison."""

    #: The data of an `agent.file_edited` event for each file.
    edits: tuple[dict[str, Any], ...] = ()
    #: How many more files changed than `edits` has.
    omitted: int = 0
    #: Why changes may be missing; set only once.
    error: str | None = None


class Changes:
    """Compares a workspace with its state at the previous call. Never raises, and never runs twice at a time."""

    def __init__(self, workspace: Path, folder: Path) -> None:
        """`folder` is the repository of the snapshots."""
        self._workspace = workspace
        self._snapshots = Snapshots(workspace, folder)
        self._last: Snapshot | None = None
        self._errors = 0
        self._not_before = 0.0
        self._lock = asyncio.Lock()

    async def begin(self) -> Compared:
        """Take the first snapshot."""
        async with self._lock:
            # A repository that an earlier worker left may not fit what is checked out now.
            self._snapshots.forget()
            return await self._begin()

    async def compare(self, *, surely: bool = False) -> Compared:
        """Return what changed since the last call. In a huge workspace calls are skipped unless `surely` is set."""
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
        """Return whether comparisons include this file: one just did, or git does not ignore it in the workspace."""
        if self._last is None:
            return False
        name = _relative(self._workspace, path)
        if any(edit["file_path"] == name for edit in compared.edits):
            return True
        if name == os.pardir or name.startswith(f"{os.pardir}/"):
            return False
        try:
            return not await self._snapshots.is_ignored(name)
        except OSError:
            return True

    async def _begin(self, *, reason: Exception | None = None) -> Compared:
        """Start again, with a new repository after an error. Only the first error is reported."""
        was_reported = self._errors > 0
        self._last = None
        error = reason
        while self._last is None and self._errors < MAX_ERRORS:
            if error is not None:
                self._errors += 1
                self._snapshots.forget()
            try:
                await self._snapshots.open()
                self._last = await self._snapshots.snapshot()
            except (SnapshotError, OSError) as failed:
                error = failed
        return Compared(error=None if was_reported or error is None else str(error))

    async def _compare(self, last: Snapshot) -> Compared:
        now = await self._snapshots.snapshot()
        edits: list[dict[str, Any]] = []
        omitted = 0
        if now.tree != last.tree:
            listed = await self._snapshots.diff(last.tree, now.tree, listed=True, max_bytes=MAX_DIFF_BYTES)
            edits, omitted = read_edits(listed, most=MAX_FILES, whole=len(listed) < MAX_DIFF_BYTES)
        self._last = now
        known = {edit["file_path"] for edit in edits}
        changed = _left_out(last.left_out, now.left_out, self._workspace)
        left = [edit for edit in changed if edit["file_path"] not in known]
        allowance = MAX_FILES - len(edits)
        # Deletions come first: a folder may replace a deleted file, and the diffs must apply in this order.
        reported = sorted((*edits, *left[:allowance]), key=lambda edit: edit["change_type"] != "deleted")
        return Compared(tuple(reported), omitted=omitted + len(left[allowance:]))


def missing_changes(error: str) -> dict[str, Any]:
    """Return the data of the error event that file changes may be missing."""
    return {"error": error, "error_type": "tool", "hint": "File changes may be missing from the events."}


def _git_seconds() -> float:
    """Return the processor time of finished child processes; on a busy machine the clock says little about git."""
    used = os.times()
    return used.children_user + used.children_system


def _relative(workspace: Path, path: str) -> str:
    return os.path.relpath(os.path.realpath(workspace / path), os.path.realpath(workspace))


def _left_out(before: Mapping[str, LeftOut], after: Mapping[str, LeftOut], workspace: Path) -> Iterator[dict[str, Any]]:
    """Yield the changes of files that are too large, or too many, for a snapshot."""
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
    """Return the fields of a last event about everything that differs from a commit.

    Nothing else may use the repository in `folder` meanwhile.
    """
    try:
        return {"session_diff": await _session_diff(Snapshots(workspace, folder), base)}
    except (SnapshotError, OSError) as error:
        return {"session_diff_error": str(error)}


async def _session_diff(snapshots: Snapshots, base: str) -> str:
    """Return one unified diff. One that is too large for a blob is cut just above that size."""
    try:
        await snapshots.open()
        now = await snapshots.snapshot()
    except SnapshotError:
        snapshots.forget()
        await snapshots.open()
        now = await snapshots.snapshot()
    diff = await snapshots.diff(base, now.tree, listed=False, max_bytes=MAX_BLOB_BYTES + 1)
    left = [left_out_diff(name, "modified" if found.in_tree else "created") for name, found in now.left_out.items()]
    return diff.decode("utf-8", "replace") + "".join(left)
