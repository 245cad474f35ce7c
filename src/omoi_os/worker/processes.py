"""Processes: the tree below the worker, what it uses, its end, and whether the kernel killed for memory."""

from __future__ import annotations

import contextlib
import os
import signal
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

from omoi_os.worker.startup.driver_start import MARK_NAME

if TYPE_CHECKING:
    from asyncio.subprocess import Process as Child

_PAGE = os.sysconf("SC_PAGE_SIZE")
_TICKS = os.sysconf("SC_CLK_TCK")

#: Where a cgroup, seen from inside, counts its out-of-memory kills: version 2, then version 1.
_OOM_COUNTERS = (Path("/sys/fs/cgroup/memory.events"), Path("/sys/fs/cgroup/memory/memory.oom_control"))

#: How often the processes are looked through for what was started while others were killed.
MAX_PASSES = 20


@dataclass(frozen=True, slots=True)
class Process:
    """What the kernel counts for one process. Its CPU time includes that of the children it waited for."""

    parent: int
    rss_bytes: int
    cpu_seconds: float
    threads: int
    #: It has ended, and its parent has not noticed yet.
    dead: bool


def _read_stat(pid: int) -> Process | None:
    """None when it is gone."""
    try:
        text = Path(f"/proc/{pid}/stat").read_text(errors="replace")
    except OSError:
        return None
    # The name, in parentheses, may hold anything, so fields are counted from its end.
    fields = text.rpartition(")")[2].split()
    return Process(
        parent=int(fields[1]),
        rss_bytes=int(fields[21]) * _PAGE,
        cpu_seconds=sum(map(int, fields[11:15])) / _TICKS,
        threads=int(fields[17]),
        dead=fields[0] == "Z",
    )


def _pids() -> list[int]:
    return [int(entry.name) for entry in Path("/proc").iterdir() if entry.name.isdigit()]


def survey() -> dict[int, Process]:
    """Every process that can be seen."""
    return {pid: process for pid in _pids() if (process := _read_stat(pid))}


def below(root: int, processes: Mapping[int, Process]) -> set[int]:
    """The process and all its descendants."""
    found = {root} & processes.keys()
    while more := {pid for pid, process in processes.items() if process.parent in found} - found:
        found |= more
    return found


def tree(root: int) -> dict[int, Process]:
    """The process and all its descendants, as they are now."""
    processes = survey()
    return {pid: processes[pid] for pid in below(root, processes)}


def of_sandbox(processes: Mapping[int, Process]) -> set[int]:
    """Those of this sandbox: all that can be seen, unless this worker runs outside of any; then those below it."""
    return set(processes) if os.getppid() in (0, 1) else below(os.getpid(), processes)


def kill_tree(root: int) -> None:
    """Kill the process and all its descendants at once."""
    for pid in [root, *(tree(root).keys() - {root})]:
        with contextlib.suppress(ProcessLookupError, PermissionError):
            os.kill(pid, signal.SIGKILL)


def kill_descendants() -> None:
    """Kill all descendants of this process, the oldest first, so that none sees the end of one that it started."""
    for pid in sorted(tree(os.getpid()).keys() - {os.getpid()}):
        with contextlib.suppress(ProcessLookupError, PermissionError):
            os.kill(pid, signal.SIGKILL)


async def end_tree(process: Child) -> None:
    """Kill a process and all its descendants, and wait for its end, which is not seen while a pipe of it is full."""
    kill_tree(process.pid)
    await process.communicate()


def marked(mark: str, pids: Iterable[int]) -> set[int]:
    """Those that were started with this mark in their environment."""
    wanted = f"{MARK_NAME}={mark}".encode()
    return {pid for pid in pids if _is_marked(pid, wanted)}


def kill_marked(mark: str) -> None:
    """Kill every process that was started with this mark in its environment, and those that they start meanwhile."""
    for _ in range(MAX_PASSES):
        found = marked(mark, _pids())
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
