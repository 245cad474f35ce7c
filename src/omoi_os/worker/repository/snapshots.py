"""Snapshots of the workspace, as git trees in a separate repository.

The agent's repository is never written, and its settings are never read: none of its hooks, filters and drivers run.
"""

from __future__ import annotations

import asyncio
import contextlib
import os
import shutil
import stat
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from pathlib import Path

from omoi_os.worker.processes import end_tree, kill_tree

#: Larger files, and files beyond these totals per snapshot or overall, are compared by size and time only.
MAX_FILE_BYTES = 8 * 1024 * 1024
MAX_TAKEN_BYTES = 32 * 1024 * 1024
MAX_TAKEN_FILES = 2000
MAX_KEPT_BYTES = 1024 * 1024 * 1024

#: The longest list of names that is read.
MAX_LISTED_BYTES = 64 * 1024 * 1024
COMMAND_SECONDS = 10.0

#: The tree of an empty folder.
EMPTY_TREE = "4b825dc642cb6eb9a060e54bf8d69288fbee4904"

_SETTINGS = {
    "core.quotePath": "false",
    "core.compression": "1",
    "core.fsync": "none",
    "core.untrackedCache": "false",
    "diff.renameLimit": "200",
    "gc.auto": "0",
}


class SnapshotError(Exception):
    """The workspace could not be read. The message ends with git's output."""


@dataclass(frozen=True, slots=True)
class LeftOut:
    """A file whose current content is not in the snapshot, and how its states are told apart."""

    size: int
    changed_ns: int
    inode: int
    #: Whether the snapshot has an older state of it.
    in_tree: bool


@dataclass(frozen=True, slots=True)
class Snapshot:
    """The workspace at one moment, without ignored files."""

    tree: str
    #: Files that are too large or too many, by name.
    left_out: dict[str, LeftOut] = field(default_factory=dict)


class Snapshots:
    """Takes snapshots of one workspace. Every method may raise `SnapshotError` or `OSError`."""

    def __init__(self, workspace: Path, folder: Path) -> None:
        """`folder` is the separate repository. `open` creates it; an existing one is used again."""
        self._workspace = workspace
        self._folder = folder
        self._kept = 0
        self._tree: str | None = None

    async def open(self) -> None:
        """Create the repository with the index of the checkout, so that unchanged files are not read."""
        # A killed command leaves it behind, and nothing else uses this repository.
        (self._folder / "index.lock").unlink(missing_ok=True)
        if (self._folder / "HEAD").exists():
            return
        shutil.rmtree(self._folder, ignore_errors=True)
        await self._git("init", "--quiet", "--template=")
        theirs = self._workspace / ".git"
        (self._folder / "objects" / "info").mkdir(exist_ok=True)
        (self._folder / "objects" / "info" / "alternates").write_text(f"{theirs / 'objects'}\n")
        with contextlib.suppress(OSError):
            shutil.copyfile(theirs / "index", self._folder / "index")
        try:
            self._tree = await self._git_text("write-tree")
        except SnapshotError:
            (self._folder / "index").unlink(missing_ok=True)

    def forget(self) -> None:
        """Remove the repository. The next `open` creates another."""
        shutil.rmtree(self._folder, ignore_errors=True)
        self._tree = None

    async def snapshot(self) -> Snapshot:
        """Take a snapshot of the workspace."""
        listed = await self._git("ls-files", "-z", "-t", "--modified", "--others", "--exclude-standard")
        # A name that ends with a slash is a nested repository.
        marked = [os.fsdecode(name) for name in listed.split(b"\0") if name and not name.endswith(b"/")]
        taken, replaced, left_out = self._sort({name[2:]: name[0] != "?" for name in marked})
        if replaced:
            await self._git("update-index", "--force-remove", "-z", "--stdin", stdin=_joined(replaced))
        if taken:
            await self._git("update-index", "--add", "--remove", "--replace", "-z", "--stdin", stdin=_joined(taken))
        if taken or replaced or self._tree is None:
            self._tree = await self._git_text("write-tree")
        return Snapshot(self._tree, left_out)

    async def diff(self, old: str, new: str, *, listed: bool, max_bytes: int) -> bytes:
        """Return the unified diff of two trees, cut at `max_bytes`. `listed` adds git's raw list and line counts."""
        options = ("--raw", "--numstat", "-z") if listed else ()
        arguments = ("diff-tree", "-r", "-M", "-p", "--full-index", "--no-ext-diff", "--no-textconv", *options)
        return await self._git(*arguments, old, new, max_bytes=max_bytes)

    async def is_ignored(self, name: str) -> bool:
        """Return whether git ignores a file of the workspace."""
        try:
            await self._git("check-ignore", "--quiet", "--no-index", "--", name)
        except SnapshotError:
            return False
        return True

    def _sort(self, names: Mapping[str, bool]) -> tuple[list[str], list[str], dict[str, LeftOut]]:
        """Return the names to add, the names that a folder has replaced, and the files to leave out."""
        taken, replaced, left_out = [], [], {}
        size = 0
        for name, in_tree in names.items():
            path = self._workspace / name
            try:
                found = path.lstat()
            except OSError:
                taken.append(name)
                continue
            if stat.S_ISDIR(found.st_mode) and not (path / ".git").exists():
                replaced.append(name)
                continue
            size += found.st_size
            fits = found.st_size <= MAX_FILE_BYTES and size <= MAX_TAKEN_BYTES and len(taken) < MAX_TAKEN_FILES
            readable = not stat.S_ISREG(found.st_mode) or os.access(path, os.R_OK)
            if fits and readable and self._kept + size <= MAX_KEPT_BYTES:
                taken.append(name)
            else:
                size -= found.st_size
                left_out[name] = LeftOut(found.st_size, found.st_mtime_ns, found.st_ino, in_tree)
        self._kept += size
        return taken, replaced, left_out

    async def _git_text(self, *arguments: str) -> str:
        return (await self._git(*arguments)).decode("ascii", "replace").strip()

    async def _git(self, *arguments: str, stdin: bytes = b"", max_bytes: int = MAX_LISTED_BYTES) -> bytes:
        process = await asyncio.create_subprocess_exec(
            *("git", *(part for key, value in _SETTINGS.items() for part in ("-c", f"{key}={value}"))),
            *("-c", f"core.excludesFile={self._workspace / '.git' / 'info' / 'exclude'}", *arguments),
            cwd=self._workspace,
            env=self._environ(),
            stdin=asyncio.subprocess.PIPE,
            stdout=asyncio.subprocess.PIPE,
            stderr=asyncio.subprocess.PIPE,
        )
        try:
            async with asyncio.timeout(COMMAND_SECONDS):
                out, errors = await _communicate(process, stdin, max_bytes=max_bytes)
        except TimeoutError:
            raise SnapshotError(f"git {arguments[0]} did not finish within {COMMAND_SECONDS:g} s") from None
        finally:
            if process.returncode is None:
                await end_tree(process)
        if process.returncode != 0 and len(out) < max_bytes:
            raise SnapshotError(f"git {arguments[0]} failed: {errors.decode(errors='replace').strip()[-1000:]}")
        return out

    def _environ(self) -> dict[str, str]:
        return {
            "PATH": os.environ.get("PATH", os.defpath),
            "HOME": os.environ.get("HOME", "/"),
            "LC_ALL": "C",
            "GIT_DIR": str(self._folder),
            "GIT_WORK_TREE": str(self._workspace),
            "GIT_CONFIG_NOSYSTEM": "1",
            "GIT_CONFIG_GLOBAL": os.devnull,
            "GIT_TERMINAL_PROMPT": "0",
            "GIT_NO_REPLACE_OBJECTS": "1",
        }


async def _communicate(process: asyncio.subprocess.Process, stdin: bytes, *, max_bytes: int) -> tuple[bytes, bytes]:
    """Return the output of a process, which is killed at the limit, and its errors."""
    assert process.stdin  # noqa: S101
    assert process.stdout  # noqa: S101
    assert process.stderr  # noqa: S101
    saying = asyncio.create_task(process.stderr.read(64 * 1024))
    sending = asyncio.create_task(_send(process.stdin, stdin))
    out = bytearray()
    try:
        while len(out) < max_bytes and (chunk := await process.stdout.read(256 * 1024)):
            out += chunk
        if len(out) >= max_bytes:
            kill_tree(process.pid)
            while await process.stdout.read(256 * 1024):
                pass
        await process.wait()
        return bytes(out[:max_bytes]), await saying
    finally:
        for task in (saying, sending):
            task.cancel()
        await asyncio.gather(saying, sending, return_exceptions=True)


async def _send(writer: asyncio.StreamWriter, content: bytes) -> None:
    with contextlib.suppress(OSError):
        writer.write(content)
        await writer.drain()
        writer.close()
        await writer.wait_closed()


def _joined(names: Iterable[str]) -> bytes:
    return b"".join(os.fsencode(name) + b"\0" for name in names)
