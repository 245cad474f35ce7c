"""Processes: the tree below the worker, its memory, its end, and whether the kernel killed for memory."""

from __future__ import annotations

import contextlib
import os
import signal
from pathlib import Path

_PAGE = os.sysconf("SC_PAGE_SIZE")

#: Where a cgroup, seen from inside, counts its out-of-memory kills: version 2, then version 1.
_OOM_COUNTERS = (Path("/sys/fs/cgroup/memory.events"), Path("/sys/fs/cgroup/memory/memory.oom_control"))

#: How often the processes are looked through for what was started while others were killed.
MAX_PASSES = 20

#: The variable that tells the agent's processes from all others.
MARK_NAME = "OMOI_AGENT"


def _read_stat(pid: int) -> tuple[int, int] | None:
    """The parent and the resident bytes of a process; None when it is gone."""
    try:
        text = Path(f"/proc/{pid}/stat").read_text(errors="replace")
    except OSError:
        return None
    # The name, in parentheses, may hold anything, so fields are counted from its end.
    fields = text.rpartition(")")[2].split()
    return int(fields[1]), int(fields[21]) * _PAGE


def _pids() -> list[int]:
    return [int(entry.name) for entry in Path("/proc").iterdir() if entry.name.isdigit()]


def tree(root: int) -> dict[int, int]:
    """The process and all its descendants, each with its resident bytes."""
    seen: dict[int, tuple[int, int]] = {}
    for pid in _pids():
        if stat := _read_stat(pid):
            seen[pid] = stat
    found = {root} & seen.keys()
    while more := {pid for pid, (parent, _) in seen.items() if parent in found} - found:
        found |= more
    return {pid: seen[pid][1] for pid in found}


def kill_tree(root: int) -> None:
    """Kill the process and all its descendants at once."""
    for pid in [root, *(tree(root).keys() - {root})]:
        with contextlib.suppress(ProcessLookupError, PermissionError):
            os.kill(pid, signal.SIGKILL)


def kill_marked(mark: str) -> None:
    """Kill every process that was started with this mark in its environment, and those that they start meanwhile."""
    wanted = f"{MARK_NAME}={mark}".encode()
    for _ in range(MAX_PASSES):
        found = [pid for pid in _pids() if _is_marked(pid, wanted)]
        if not found:
            return
        for pid in found:
            with contextlib.suppress(ProcessLookupError, PermissionError):
                os.kill(pid, signal.SIGKILL)


def _is_marked(pid: int, wanted: bytes) -> bool:
    # Of a process that is dead but not yet waited for, the environment is empty.
    try:
        return wanted in Path(f"/proc/{pid}/environ").read_bytes().split(b"\0")
    except OSError:
        return False


def oom_kills() -> int:
    """How often the kernel killed here for memory; 0 where it cannot be seen, then the platform tells."""
    for counter in _OOM_COUNTERS:
        try:
            lines = counter.read_text().splitlines()
        except OSError:
            continue
        for line in lines:
            name, _, value = line.partition(" ")
            if name == "oom_kill" and value.isdigit():
                return int(value)
    return 0
