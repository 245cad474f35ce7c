"""The memory, processor time, processes and disk that a sandbox uses, as they can be seen from inside."""

# No pathlib here: its import would be a good part of every command's start.
# ruff: noqa: PTH123

from __future__ import annotations

import os
import resource

from omoi_os.providers.guest import process_trees

_CGROUP = "/sys/fs/cgroup"
_KILLS = (f"{_CGROUP}/memory.events", f"{_CGROUP}/memory/memory.oom_control")
_PEAKS = (f"{_CGROUP}/memory.peak", f"{_CGROUP}/memory/memory.max_usage_in_bytes")

#: A disk with less free space is full.
_FULL_BYTES = 1 << 20


def out_of_memory_kills(memory_bytes: int) -> int:
    """Return how many processes the kernel has killed for memory in this sandbox.

    If its control group cannot be seen, only the number of the whole machine is left: that one is returned once a
    child of ours has used more than half of `memory_bytes`, the sandbox's limit.
    """
    for path in _KILLS:
        if text := _read(path):
            return _kills_in(text)
    largest = resource.getrusage(resource.RUSAGE_CHILDREN).ru_maxrss * 1024
    return _kills_in(_read("/proc/vmstat")) if largest == 0 or largest > memory_bytes // 2 else 0


def peak_memory() -> int | None:
    """Return the most memory that was used at a time, if the control group can be seen."""
    return next((int(text) for path in _PEAKS if (text := _read(path).strip()).isdigit()), None)


def current(places: list[str]) -> dict[str, int | float]:
    """Return the current use: that of the control group if it can be seen, else of the processes that can be."""
    processor = dict(line.split() for line in _read(f"{_CGROUP}/cpu.stat").splitlines())
    memory, ticks, pids = _count_processes()
    seconds = int(processor["usage_usec"]) / 1e6 if "usage_usec" in processor else ticks / os.sysconf("SC_CLK_TCK")
    disks = [os.statvfs(place) for place in places]
    return {
        "memory_bytes": _number(f"{_CGROUP}/memory.current", otherwise=memory),
        "cpu_seconds": seconds,
        "pids": _number(f"{_CGROUP}/pids.current", otherwise=pids),
        "disk_bytes": max((disk.f_blocks - disk.f_bfree) * disk.f_frsize for disk in disks),
    }


def is_disk_full(places: list[str]) -> bool:
    """Return whether one of these folders has no free space left."""
    disks = [os.statvfs(place) for place in places]
    return any(disk.f_bavail * disk.f_frsize < _FULL_BYTES for disk in disks)


def _count_processes() -> tuple[int, int, int]:
    """Return the memory, clock ticks and threads of all processes."""
    memory = ticks = threads = 0
    for pid in process_trees.pids():
        fields = process_trees.stat_fields(pid)
        if len(fields) > 21:
            threads += int(fields[17])
            ticks += sum(int(field) for field in fields[11:15])
            memory += int(fields[21]) * os.sysconf("SC_PAGE_SIZE")
    return memory, ticks, threads


def _kills_in(text: str) -> int:
    return next((int(line.split()[1]) for line in text.splitlines() if line.startswith("oom_kill ")), 0)


def _number(path: str, *, otherwise: int) -> int:
    text = _read(path).strip()
    return int(text) if text.isdigit() else otherwise


def _read(path: str) -> str:
    try:
        with open(path) as file:
            return file.read()
    except OSError:
        return ""
