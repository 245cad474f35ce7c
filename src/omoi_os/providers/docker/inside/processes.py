"""Killing all that one command started, and all that there is."""

# No pathlib here: its import would be a good part of every command's start.
# ruff: noqa: PTH123, PTH208

import ctypes
import os
import time

from omoi_os.providers.local.supervisor.kernel import SIGKILL

_PR_SET_DUMPABLE, _PR_SET_CHILD_SUBREAPER = 4, 36

#: How long to wait for the dying before looking again; nothing tells when the last one is gone.
_MOMENT = 0.005


def adopt_orphans() -> None:
    """Become the parent of every descendant whose own parent ends, so that none gets away."""
    _prctl(_PR_SET_CHILD_SUBREAPER)


def show_memory() -> None:
    """Undo what hides this process from others of the same user."""
    _prctl(_PR_SET_DUMPABLE)


def _prctl(option: int) -> None:
    if ctypes.CDLL(None, use_errno=True).prctl(option, 1, 0, 0, 0) != 0:
        raise OSError(ctypes.get_errno(), f"prctl {option}")


def reap(statuses: dict[int, int]) -> bool:
    """Take note of the children that have ended; False when there are no others left."""
    try:
        while True:
            pid, status = os.waitpid(-1, os.WNOHANG)
            if pid == 0:
                return True
            statuses[pid] = status
    except ChildProcessError:
        return False


def kill_descendants(statuses: dict[int, int], *, seconds: float) -> bool:
    """Kill every process below this one, taking note of how children ended; False if some were left after that long."""
    deadline = time.monotonic() + seconds
    while reap(statuses):
        if time.monotonic() > deadline:
            return False
        for pid in _descendants(os.getpid()):
            _kill(pid)
        time.sleep(_MOMENT)
    return True


def kill_all(statuses: dict[int, int], *, seconds: float) -> bool:
    """As the container's first process, kill every other one; False if some were left after that long."""
    deadline = time.monotonic() + seconds
    while _kill(-1):
        reap(statuses)
        if time.monotonic() > deadline:
            return False
        time.sleep(_MOMENT)
    reap(statuses)
    return True


def _kill(pid: int) -> bool:
    try:
        os.kill(pid, SIGKILL)
    except (ProcessLookupError, PermissionError):
        return False
    return True


def _descendants(root: int) -> list[int]:
    children: dict[int, list[int]] = {}
    for entry in os.listdir("/proc"):
        if entry.isdigit():
            children.setdefault(_parent(entry), []).append(int(entry))
    found: list[int] = []
    waiting = [root]
    while waiting:
        below = children.get(waiting.pop(), [])
        found += below
        waiting += below
    return found


def _parent(pid: str) -> int:
    try:
        with open(f"/proc/{pid}/stat", "rb") as file:
            # The command's name, in brackets, may itself hold spaces and brackets.
            return int(file.read().rpartition(b")")[2].split()[1])
    except OSError:
        return -1
