"""Usage: what the processes and files in this sandbox use, for the heartbeat."""

from __future__ import annotations

import asyncio
import contextlib
import itertools
import os
import time
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from omoi_os.worker.processes import Process, below, marked, of_sandbox, survey

#: Looking at every file is bounded; a count that was cut short says so.
MAX_ENTRIES = 200_000
MAX_SECONDS = 2.0

#: How many beats one look at the disk lasts.
DISK_BEATS = 2

_MB = 2**20


@dataclass(frozen=True, slots=True)
class AgentProcesses:
    """How the agent's processes are found: the child's id, and the mark that all below it carry."""

    pid: int
    mark: str


class UsageMeter:
    """Measures resources, and compares each measurement with the previous one."""

    def __init__(self, folders: Sequence[Path]) -> None:
        self._folders = folders
        self._beats = 0
        self._disk: dict[str, Any] = {}
        #: The CPU time of each process that a tool started, as of the last beat.
        self._tools_cpu: dict[int, float] = {}

    async def measure(self, agent: AgentProcesses | None, *, in_tool: bool) -> dict[str, Any]:
        """The resources of the whole sandbox, and whether something that a tool started is at work."""
        processes = survey()
        here = of_sandbox(processes)
        children = _tool_processes(agent, processes) if agent else set()
        # A server that a tool left behind and that only waits is no work; one that computes is.
        # Each is compared with itself: one that has ended since must not hide another's work.
        before, self._tools_cpu = self._tools_cpu, {pid: processes[pid].cpu_seconds for pid in children}
        computed = any(seconds > before.get(pid, 0.0) for pid, seconds in self._tools_cpu.items())
        if self._beats % DISK_BEATS == 0:
            self._disk = await asyncio.to_thread(_disk_usage, self._folders)
        self._beats += 1
        return {
            "rss_mb": round(sum(processes[pid].rss_bytes for pid in here) / _MB),
            # The limit counts threads.
            "pids": sum(processes[pid].threads for pid in here),
            "cpu_s": round(sum(processes[pid].cpu_seconds for pid in here), 2),
            **self._disk,
            "children": len(children),
            "busy": bool(children) and (in_tool or computed),
        }


def _tool_processes(agent: AgentProcesses, processes: dict[int, Process]) -> set[int]:
    """What the agent's tools started: all below the CLI, also what has lost its parent, but not the CLI itself."""
    cli = {pid for pid, process in processes.items() if process.parent == agent.pid}
    found = below(agent.pid, processes) | marked(agent.mark, processes)
    return {pid for pid in found - cli - {agent.pid} if not processes[pid].dead}


def _disk_usage(folders: Sequence[Path]) -> dict[str, Any]:
    """The blocks of all files below the folders, never through links; within bounds."""
    deadline = time.monotonic() + MAX_SECONDS
    waiting = [str(folder) for folder in folders]
    entries = used = 0
    while waiting and entries < MAX_ENTRIES and time.monotonic() < deadline:
        with contextlib.suppress(OSError), os.scandir(waiting.pop()) as listed:
            for entry in itertools.islice(listed, MAX_ENTRIES - entries):
                entries += 1
                # The agent removes files meanwhile.
                with contextlib.suppress(OSError):
                    used += entry.stat(follow_symlinks=False).st_blocks * 512
                    if entry.is_dir(follow_symlinks=False):
                        waiting.append(entry.path)
    return {"disk_mb": round(used / _MB), "disk_complete": not waiting and entries < MAX_ENTRIES}
