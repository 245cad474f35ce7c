"""Limits on memory, processors and processes, by the control groups of the machine."""

# Paths are strings here: pathlib alone would double the supervisor's start.
# ruff: noqa: PTH102, PTH103, PTH106, PTH110, PTH120, PTH123

import errno
import os
import time

from omoi_os.providers.guest import kernel

CONTROLLERS = ("memory", "cpu", "pids")

#: The parent of the groups of all sandboxes.
PARENT = "omoi"

#: The key of the only folder in the layout of a machine with the unified hierarchy.
UNIFIED = "unified"

_PERIOD_US = 100_000


def detect(mounts: str = "/sys/fs/cgroup", own: str = "/proc/self/cgroup") -> dict[str, str]:
    """Return the folders for the groups of sandboxes: by controller, one as `UNIFIED`, or none at all."""
    if os.path.exists(f"{mounts}/cgroup.controllers"):
        folder = _unified_parent(mounts, own)
        return {UNIFIED: folder} if folder else {}
    found = {}
    for controller in CONTROLLERS:
        folder = f"{mounts}/{controller}"
        if os.path.exists(f"{folder}/cgroup.procs") and os.access(folder, os.W_OK):
            found[controller] = f"{folder}/{PARENT}"
    # A separate controller counts the time used; it is usually mounted together with the one that limits it.
    apart = not os.path.exists(f"{mounts}/cpu/cpuacct.usage")
    if found and apart and os.access(f"{mounts}/cpuacct", os.W_OK):
        found["cpuacct"] = f"{mounts}/cpuacct/{PARENT}"
    return found


def missing(layout: dict[str, str]) -> list[str]:
    """Return the controllers that this machine lacks."""
    return [] if UNIFIED in layout else [name for name in CONTROLLERS if name not in layout]


def groups_of(layout: dict[str, str], name: str) -> dict[str, str]:
    """Return the folders of one sandbox's groups."""
    return {controller: f"{parent}/{name}" for controller, parent in layout.items()}


def make(groups: dict[str, str], *, memory_bytes: int, cpus: float, pids: int) -> None:
    """Create a sandbox's groups with their limits. Raises `FileExistsError` if another sandbox has them."""
    quota = max(1000, int(cpus * _PERIOD_US))
    for controller, folder in groups.items():
        os.makedirs(os.path.dirname(folder), exist_ok=True)
        os.mkdir(folder)
        if controller in ("memory", UNIFIED):
            _limit_memory(folder, memory_bytes, unified=controller == UNIFIED)
        if controller == UNIFIED:
            _write_if_supported(f"{folder}/cpu.max", f"{quota} {_PERIOD_US}")
        if controller == "cpu":
            _write(f"{folder}/cpu.cfs_period_us", str(_PERIOD_US))
            _write(f"{folder}/cpu.cfs_quota_us", str(quota))
        if controller in ("pids", UNIFIED):
            _write(f"{folder}/pids.max", str(pids))


def open_groups(groups: dict[str, str]) -> list[int]:
    """Return descriptors to which a process writes 0 to join the groups."""
    return [os.open(f"{folder}/cgroup.procs", os.O_WRONLY | os.O_CLOEXEC) for folder in groups.values()]


def out_of_memory_kills(groups: dict[str, str]) -> int:
    """Return how many processes the kernel has killed for memory."""
    folder, file = groups.get("memory"), "memory.oom_control"
    if UNIFIED in groups:
        folder, file = groups[UNIFIED], "memory.events"
    text = _read(f"{folder}/{file}") if folder else ""
    counts = [line.split()[1] for line in text.splitlines() if line.startswith("oom_kill ")]
    return int(counts[0]) if counts else 0


def usage(groups: dict[str, str], *, peak: bool = False) -> tuple[int | None, float | None, int | None]:
    """Return the bytes of memory, seconds of processor time and number of processes, each None if not counted.

    Memory and processes are the current values, or with `peak` the highest.
    """
    if UNIFIED in groups:
        folder = groups[UNIFIED]
        memory = _number(f"{folder}/memory.{'peak' if peak else 'current'}")
        times = [line.split()[1] for line in _read(f"{folder}/cpu.stat").splitlines() if line.startswith("usage_usec ")]
        seconds = int(times[0]) / 1e6 if times else None
    else:
        memory = _number(f"{groups.get('memory')}/memory.{'max_usage' if peak else 'usage'}_in_bytes")
        spent = _number(f"{groups.get('cpuacct') or groups.get('cpu')}/cpuacct.usage")
        seconds = None if spent is None else spent / 1e9
    pids = _number(f"{groups.get(UNIFIED) or groups.get('pids')}/pids.{'peak' if peak else 'current'}")
    return memory, seconds, pids


def remove(groups: dict[str, str], *, seconds: float = 2.0) -> bool:
    """Kill the processes in the groups and remove them. Return False if some groups are left after that long."""
    deadline = time.monotonic() + seconds
    left = list(groups.values())
    while left:
        left = [folder for folder in left if not _removed(folder)]
        if left and time.monotonic() > deadline:
            return False
        if left:
            # A group is busy for a moment after its last process has ended, and nothing reports the end of that.
            time.sleep(0.005)
    return True


def _removed(folder: str) -> bool:
    for pid in _read(f"{folder}/cgroup.procs").split():
        try:
            os.kill(int(pid), kernel.SIGKILL)
        except ProcessLookupError:
            continue
    try:
        os.rmdir(folder)
    except FileNotFoundError:
        return True
    except OSError as error:
        if error.errno != errno.EBUSY:
            raise
        return False
    return True


def _unified_parent(mounts: str, own: str) -> str | None:
    """Return the topmost group above our own that we may divide, prepared for that."""
    path = next((line[3:].strip() for line in _read(own).splitlines() if line.startswith("0::")), "/")
    names = [name for name in path.split("/") if name]
    for depth in range(len(names) + 1):
        folder = "/".join([mounts, *names[:depth]])
        writable = os.access(folder, os.W_OK) and os.access(f"{folder}/cgroup.procs", os.W_OK)
        if writable and {"memory", "pids"} <= set(_read(f"{folder}/cgroup.controllers").split()):
            try:
                _delegate(folder)
                os.makedirs(f"{folder}/{PARENT}", exist_ok=True)
                _delegate(f"{folder}/{PARENT}")
            except OSError:
                continue
            return f"{folder}/{PARENT}"
    return None


def _delegate(folder: str) -> None:
    offered = set(_read(f"{folder}/cgroup.controllers").split())
    given = set(_read(f"{folder}/cgroup.subtree_control").split())
    wanted = sorted((offered & set(CONTROLLERS)) - given)
    if wanted:
        _write(f"{folder}/cgroup.subtree_control", " ".join(f"+{name}" for name in wanted))


def _limit_memory(folder: str, limit: int, *, unified: bool) -> None:
    if unified:
        _write(f"{folder}/memory.max", str(limit))
        _write_if_supported(f"{folder}/memory.swap.max", "0")
        return
    _write(f"{folder}/memory.limit_in_bytes", str(limit))
    _write_if_supported(f"{folder}/memory.memsw.limit_in_bytes", str(limit))


def _write(path: str, value: str) -> None:
    with open(path, "w") as file:
        file.write(value)


def _write_if_supported(path: str, value: str) -> None:
    """Write to a file that some kernels lack or refuse, such as those for swap."""
    try:
        _write(path, value)
    except OSError as error:
        if error.errno not in (errno.ENOENT, errno.EOPNOTSUPP, errno.EACCES, errno.EPERM, errno.EINVAL):
            raise


def _number(path: str) -> int | None:
    text = _read(path).strip()
    return int(text) if text.isdigit() else None


def _read(path: str) -> str:
    try:
        with open(path) as file:
            return file.read()
    except OSError:
        return ""
