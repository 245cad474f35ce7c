"""Usage: the resources that processes and files of this sandbox use, for the heartbeat."""

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

#: The bounds of measuring the disk; an incomplete measurement says so.
MAX_ENTRIES = 200_000
MAX_SECONDS = 2.0

#: How many heartbeats use one measurement of the disk.
DISK_BEATS = 2

_MB = 2**20


@dataclass(frozen=True, slots=True)
class AgentProcesses:
    """How the agent's processes are found: the driver's process id, and the mark of everything it starts."""

    pid: int
    mark: str


class UsageMeter:
    """Measures resources, and compares each measurement with the previous one."""

    def __init__(self, folders: Sequence[Path]) -> None:
        self._folders = folders
        self._beats = 0
        self._disk: dict[str, Any] = {}
        #: The CPU time of each process that a tool started, at the last heartbeat.
        self._tools_cpu: dict[int, float] = {}

    async def measure(self, agent: AgentProcesses | None, *, in_tool: bool) -> dict[str, Any]:
        """Return the resources of the whole sandbox, and whether a process that a tool started is working."""
        processes = survey()
        here = of_sandbox(processes)
        children = _tool_processes(agent, processes) if agent else set()
        # A server that a tool left behind counts as work only while it computes.
        # Each process is compared with itself: one that has exited must not hide another's work.
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
    """Return what tools started: everything below the agent's program, including orphans, but not the program."""
    programs = {pid for pid, process in processes.items() if process.parent == agent.pid}
    found = below(agent.pid, processes) | marked(agent.mark, processes)
    return {pid for pid in found - programs - {agent.pid} if not processes[pid].dead}


def _disk_usage(folders: Sequence[Path]) -> dict[str, Any]:
    """Return the size of all files below the folders, within bounds and without following links."""
    deadline = time.monotonic() + MAX_SECONDS
    waiting = [str(folder) for folder in folders]
    entries = used = 0
    while waiting and entries < MAX_ENTRIES and time.monotonic() < deadline:
        with contextlib.suppress(OSError), os.scandir(waiting.pop()) as listed:
            for entry in itertools.islice(listed, MAX_ENTRIES - entries):
                entries += 1
                # The agent may remove files meanwhile.
                with contextlib.suppress(OSError):
                    used += entry.stat(follow_symlinks=False).st_blocks * 512
                    if entry.is_dir(follow_symlinks=False):
                        waiting.append(entry.path)
    return {"disk_mb": round(used / _MB), "disk_complete": not waiting and entries < MAX_ENTRIES}
