"""What the container's control group tells about memory and processor time, in either version of control groups."""

# No pathlib here: its import would be a good part of the container's start.
# ruff: noqa: PTH123

_KILLS = ("/sys/fs/cgroup/memory.events", "/sys/fs/cgroup/memory/memory.oom_control")
_PEAKS = ("/sys/fs/cgroup/memory.peak", "/sys/fs/cgroup/memory/memory.max_usage_in_bytes")


def kills() -> int:
    """How many processes were killed for want of memory."""
    for path in _KILLS:
        for line in _read(path).splitlines():
            name, _, number = line.partition(" ")
            if name == "oom_kill":
                return int(number)
    return 0


def usage() -> dict[str, int]:
    """The most memory that was used at a time, if that can be told."""
    for path in _PEAKS:
        if text := _read(path).strip():
            return {"memory": int(text)}
    return {}


def _read(path: str) -> str:
    try:
        with open(path) as file:
            return file.read()
    except OSError:
        return ""
