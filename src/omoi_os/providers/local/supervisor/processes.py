"""Naming processes so that a reused number is never mistaken, and killing all that one command left."""

# Paths are strings here: pathlib alone would double the supervisor's start.
# ruff: noqa: PTH116, PTH123, PTH208

import os
import select
import time

from omoi_os.providers.local.supervisor import kernel

#: The sandbox's first process and the one that holds it open.
HOLDING_PROCESSES = 2

#: What a supervisor's command line begins with; the sandbox's folder follows.
TITLE = "omoi sandbox "


def identify(pid: int) -> str:
    """A name for the process that holds across our own restarts and the machine's."""
    with open("/proc/sys/kernel/random/boot_id") as file:
        boot = file.read().strip()
    return f"{pid} {_start_time(pid)} {boot}"


def open_process(identity: str) -> int | None:
    """A descriptor for the process of that name, or None when it has ended."""
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
    """A descriptor for the process that holds the sandbox in this folder, or None; for when its state is damaged.

    A supervisor shows the folder in its command line. What runs inside may do so too, but has a pid namespace.
    """
    found = None
    for pidfd, path in supervisors_below(folder):
        if path == folder and found is None:
            found = pidfd
        else:
            os.close(pidfd)
    return found


def supervisors_below(prefix: str) -> list[tuple[int, str]]:
    """A descriptor for each process that holds a sandbox whose folder begins so, and that folder."""
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
    """Whether a process is ours and in our own pid namespace."""
    try:
        with open(f"/proc/{pid}/status") as file:
            lines = dict(line.split(":", 1) for line in file if ":" in line)
    except OSError:
        return False
    return lines["Uid"].split()[0] == str(os.getuid()) and len(lines["NSpid"].split()) == 1


def has_ended(pidfd: int, *, wait_ms: int = 0) -> bool:
    """Whether the process has ended, given that long to do so."""
    poll = select.poll()
    poll.register(pidfd, select.POLLIN)
    return bool(poll.poll(wait_ms))


def usage(init: int) -> tuple[int, float, int]:
    """Bytes of memory, seconds of processor time and number of processes in the pid namespace of this process,
    counted one by one: for machines without control groups. The holders are not counted as processes."""
    namespace = os.stat(f"/proc/{init}/ns/pid").st_ino
    pages = ticks = count = 0
    for entry in os.listdir("/proc"):
        try:
            if entry.isdigit() and os.stat(f"/proc/{entry}/ns/pid").st_ino == namespace:
                fields = _fields(int(entry))
                pages += int(fields[21])
                ticks += sum(map(int, fields[11:15]))
                count += 1
        except OSError:
            continue
    return pages * os.sysconf("SC_PAGE_SIZE"), ticks / os.sysconf("SC_CLK_TCK"), max(0, count - HOLDING_PROCESSES)


def kill_members(namespace: int, *, seconds: float) -> bool:
    """Kill every process of a host-name namespace, given as a descriptor; False if some were left after that long.

    Each command has one of its own. Double forks and new sessions do not lead out of it, and the filter refuses
    to make or enter another.
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
    return _fields(pid)[19]


def _fields(pid: int) -> list[str]:
    """The process's figures, from its state on."""
    with open(f"/proc/{pid}/stat", errors="replace") as file:
        # The command's name, in brackets, may itself hold spaces and brackets.
        return file.read().rpartition(")")[2].split()
