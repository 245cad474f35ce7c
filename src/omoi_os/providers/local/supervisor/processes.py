"""Identifying processes although pids are reused, and killing everything that one command left."""

# Paths are strings here: pathlib alone would double the supervisor's start.
# ruff: noqa: PTH116, PTH123, PTH208

import os
import select
import time

from omoi_os.providers.guest import kernel
from omoi_os.providers.guest.process_trees import stat_fields

#: The sandbox's init and the anchor that keeps its namespaces open.
OWN_PROCESSES = 2

#: The beginning of a supervisor's command line; the sandbox's folder follows.
TITLE = "omoi sandbox "


def identify(pid: int) -> str:
    """Return a name for the process that is unique across restarts of this program and of the machine."""
    with open("/proc/sys/kernel/random/boot_id") as file:
        boot = file.read().strip()
    return f"{pid} {_start_time(pid)} {boot}"


def open_process(identity: str) -> int | None:
    """Return a descriptor of the process with that name, or None if it has ended."""
    pid = int(identity.split()[0])
    try:
        pidfd = os.pidfd_open(pid)
    except ProcessLookupError:
        return None
    try:
        if identify(pid) == identity and not has_ended(pidfd):
            return pidfd
    except OSError:
        pass
    os.close(pidfd)
    return None


def find_supervisor(folder: str) -> int | None:
    """Return a descriptor of the supervisor of the sandbox in this folder, or None. For sandboxes with a damaged state.

    A supervisor shows the folder in its command line. Processes inside may do so too, but have another pid namespace.
    """
    found = None
    for pidfd, path in supervisors_below(folder):
        if path == folder and found is None:
            found = pidfd
        else:
            os.close(pidfd)
    return found


def supervisors_below(prefix: str) -> list[tuple[int, str]]:
    """Return a descriptor and the folder of each supervisor whose folder starts with the prefix."""
    wanted = os.fsencode(f"{TITLE}{prefix}")
    found = []
    for entry in os.listdir("/proc"):
        if not entry.isdigit():
            continue
        try:
            with open(f"/proc/{entry}/cmdline", "rb") as file:
                title = file.read(8192).rstrip(b"\0")
            if not title.startswith(wanted):
                continue
            pidfd = os.pidfd_open(int(entry))
        except OSError:
            continue
        if _is_outside(int(entry)) and not has_ended(pidfd):
            found.append((pidfd, os.fsdecode(title[len(TITLE) :])))
        else:
            os.close(pidfd)
    return found


def _is_outside(pid: int) -> bool:
    """Return whether a process has our uid and our pid namespace."""
    try:
        with open(f"/proc/{pid}/status") as file:
            lines = dict(line.split(":", 1) for line in file if ":" in line)
    except OSError:
        return False
    return lines["Uid"].split()[0] == str(os.getuid()) and len(lines["NSpid"].split()) == 1


def has_ended(pidfd: int, *, wait_ms: int = 0) -> bool:
    """Return whether the process has ended, or ends within that time."""
    poll = select.poll()
    poll.register(pidfd, select.POLLIN)
    return bool(poll.poll(wait_ms))


def usage(init: int) -> tuple[int, float, int]:
    """Return the bytes of memory, seconds of processor time and number of processes in this process's pid namespace.

    They are added up process by process, for machines without control groups. `OWN_PROCESSES` are not counted.
    """
    namespace = os.stat(f"/proc/{init}/ns/pid").st_ino
    pages = ticks = count = 0
    for entry in os.listdir("/proc"):
        try:
            if entry.isdigit() and os.stat(f"/proc/{entry}/ns/pid").st_ino == namespace:
                fields = stat_fields(int(entry))
                if not fields:
                    continue
                pages += int(fields[21])
                ticks += sum(map(int, fields[11:15]))
                count += 1
        except OSError:
            continue
    return pages * os.sysconf("SC_PAGE_SIZE"), ticks / os.sysconf("SC_CLK_TCK"), max(0, count - OWN_PROCESSES)


def kill_members(namespace: int, *, seconds: float) -> bool:
    """Kill every process of a host-name namespace, given as a descriptor. Return False if some are left in the end.

    Each command has its own. Double forks and new sessions do not leave it, and the seccomp filter denies creating or
    entering another.
    """
    deadline = time.monotonic() + seconds
    number = os.fstat(namespace).st_ino
    while True:
        killed = [pidfd for entry in os.listdir("/proc") if entry.isdigit() for pidfd in _kill(int(entry), number)]
        for pidfd in killed:
            has_ended(pidfd, wait_ms=100)
            os.close(pidfd)
        if not killed:
            return True
        if time.monotonic() > deadline:
            return False


def _kill(pid: int, namespace: int) -> list[int]:
    try:
        pidfd = os.pidfd_open(pid)
    except OSError:
        return []
    try:
        if os.stat(f"/proc/{pid}/ns/uts").st_ino == namespace:
            kernel.send_signal(pidfd, kernel.SIGKILL)
            return [pidfd]
    except OSError:
        pass
    os.close(pidfd)
    return []


def _start_time(pid: int) -> str:
    fields = stat_fields(pid)
    if not fields:
        raise ProcessLookupError(f"process {pid} is gone")
    return fields[19]
