"""Process trees: noticing that a child ended, and killing everything that a process started."""

# No pathlib here: its import would be a good part of every command's start.
# ruff: noqa: PTH123, PTH208

from __future__ import annotations

import os
import signal
import time

#: How long to wait before looking again for dying processes; nothing reports when the last one is gone.
_PAUSE_SECONDS = 0.005


def wake_on_child() -> int:
    """Return a descriptor that becomes readable when a child of this process ends, adopted ones included.

    It does so for every other signal that has a handler, too.
    """
    readable, writable = os.pipe()
    os.set_blocking(readable, False)
    os.set_blocking(writable, False)
    signal.signal(signal.SIGCHLD, lambda *_: None)
    signal.set_wakeup_fd(writable, warn_on_full_buffer=False)
    return readable


def reap(statuses: dict[int, int]) -> bool:
    """Add the wait status of every child that has ended. Return False if this process has no other children."""
    try:
        while True:
            pid, status = os.waitpid(-1, os.WNOHANG)
            if pid == 0:
                return True
            statuses[pid] = status
    except ChildProcessError:
        return False


def kill_descendants(statuses: dict[int, int], *, seconds: float) -> bool:
    """Kill every process below this one, which must adopt orphans. Return False if some are left after that long."""
    deadline = time.monotonic() + seconds
    while reap(statuses):
        if time.monotonic() > deadline:
            return False
        for pid in descendants(os.getpid()):
            _kill(pid)
        time.sleep(_PAUSE_SECONDS)
    return True


def kill_all(statuses: dict[int, int], *, seconds: float) -> bool:
    """As the first process of a pid namespace, kill every other one. Return False if some are left after that long."""
    deadline = time.monotonic() + seconds
    while _kill(-1):
        reap(statuses)
        if time.monotonic() > deadline:
            return False
        time.sleep(_PAUSE_SECONDS)
    reap(statuses)
    return True


def descendants(root: int) -> list[int]:
    """Return every process below this one."""
    children: dict[int, list[int]] = {}
    for pid in pids():
        fields = stat_fields(pid)
        if fields:
            children.setdefault(int(fields[1]), []).append(pid)
    found: list[int] = []
    waiting = [root]
    while waiting:
        below = children.get(waiting.pop(), [])
        found += below
        waiting += below
    return found


def pids() -> list[int]:
    """Return the number of every process that can be seen."""
    return [int(name) for name in os.listdir("/proc") if name.isdigit()]


def stat_fields(pid: int) -> list[str]:
    """Return the fields of `/proc/PID/stat` from the process's state on; nothing if the process is gone."""
    try:
        with open(f"/proc/{pid}/stat", errors="replace") as file:
            # The command's name, in brackets, may itself contain spaces and brackets.
            return file.read().rpartition(")")[2].split()
    except OSError:
        return []


def _kill(pid: int) -> bool:
    try:
        os.kill(pid, signal.SIGKILL)
    except (ProcessLookupError, PermissionError):
        return False
    return True
