"""Processes: list them, measure them, kill them, and count the kernel's out-of-memory kills."""

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

#: The files in which a cgroup counts its out-of-memory kills: version 2, then version 1.
_OOM_COUNTERS = (Path("/sys/fs/cgroup/memory.events"), Path("/sys/fs/cgroup/memory/memory.oom_control"))

#: How often processes are listed again, to find those that were started while others were killed.
MAX_PASSES = 20


@dataclass(frozen=True, slots=True)
class Process:
    """The kernel's figures for one process. Its CPU time includes that of the children it waited for."""

    parent: int
    rss_bytes: int
    cpu_seconds: float
    threads: int
    #: It has exited, and its parent has not waited for it yet.
    dead: bool


def _read_stat(pid: int) -> Process | None:
    """Return None if the process is gone."""
    try:
        text = Path(f"/proc/{pid}/stat").read_text(errors="replace")
    except OSError:
        return None
    # The name in parentheses can contain anything, so fields are counted from its end.
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
    """Return every visible process."""
    return {pid: process for pid in _pids() if (process := _read_stat(pid))}


def below(root: int, processes: Mapping[int, Process]) -> set[int]:
    """Return the process and all its descendants."""
    found = {root} & processes.keys()
    while more := {pid for pid, process in processes.items() if process.parent in found} - found:
        found |= more
    return found


def tree(root: int) -> dict[int, Process]:
    """Return the process and all its descendants, as they are now."""
    processes = survey()
    return {pid: processes[pid] for pid in below(root, processes)}


def of_sandbox(processes: Mapping[int, Process]) -> set[int]:
    """Return the processes of this sandbox: all visible ones, or outside a sandbox those below this worker."""
    return set(processes) if os.getppid() in (0, 1) else below(os.getpid(), processes)


def kill_tree(root: int) -> None:
    """Kill the process and all its descendants."""
    for pid in [root, *(tree(root).keys() - {root})]:
        with contextlib.suppress(ProcessLookupError, PermissionError):
            os.kill(pid, signal.SIGKILL)


def kill_descendants() -> None:
    """Kill all descendants of this process, oldest first, so that none notices the end of a process it started."""
    for pid in sorted(tree(os.getpid()).keys() - {os.getpid()}):
        with contextlib.suppress(ProcessLookupError, PermissionError):
            os.kill(pid, signal.SIGKILL)


async def end_tree(process: Child) -> None:
    """Kill a process and all its descendants, and wait for it. Its pipes are read, because a full one would block."""
    kill_tree(process.pid)
    await process.communicate()


def marked(mark: str, pids: Iterable[int]) -> set[int]:
    """Return the processes that were started with this mark in their environment."""
    wanted = f"{MARK_NAME}={mark}".encode()
    return {pid for pid in pids if _is_marked(pid, wanted)}


def kill_marked(mark: str) -> None:
    """Kill every process that was started with this mark in its environment, and those they start meanwhile."""
    for _ in range(MAX_PASSES):
        found = marked(mark, _pids())
        if not found:
            return
        for pid in found:
            with contextlib.suppress(ProcessLookupError, PermissionError):
                os.kill(pid, signal.SIGKILL)


def _is_marked(pid: int, wanted: bytes) -> bool:
    # A dead process that was not waited for has an empty environment.
    try:
        return wanted in Path(f"/proc/{pid}/environ").read_bytes().split(b"\0")
    except OSError:
        return False


def oom_kills() -> int:
    """Return how often the kernel killed a process for memory, or 0 where only the platform can see it."""
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
