"""Read the processes of a platform's sandboxes from the kernel: start time, memory, processor time."""

import contextlib
import os
import time
from dataclasses import dataclass
from pathlib import Path

_TICKS = os.sysconf("SC_CLK_TCK")

#: The kinds of a sandbox's processes by a part of their command lines; the first match counts.
_KINDS = {
    "supervisor": "/sandboxes",
    "agent": "omoi_os.worker.agents.claude.driver",
    "reporter": "omoi_os.worker.",
    "bwrap": "bwrap",
    "init": "/bin/cat",
    "cli": "/claude ",
}


@dataclass(frozen=True, slots=True)
class Process:
    """One process."""

    pid: int
    parent: int
    command: str
    started: float
    cpu_seconds: float

    @property
    def kind(self) -> str:
        """Return its role in a sandbox."""
        return next((kind for kind, sign in _KINDS.items() if sign in self.command), "other")

    @property
    def pss_bytes(self) -> int:
        """Return its proportional set size: shared memory is divided among the processes that share it."""
        try:
            lines = Path(f"/proc/{self.pid}/smaps_rollup").read_text().splitlines()
        except OSError:
            return 0
        return next(int(line.split()[1]) * 1024 for line in lines if line.startswith("Pss:"))


def survey() -> dict[int, Process]:
    """Return every process by its id."""
    booted = time.time() - time.clock_gettime(time.CLOCK_BOOTTIME)
    found = {}
    for entry in Path("/proc").iterdir():
        if entry.name.isdigit():
            with contextlib.suppress(OSError, ValueError, IndexError):
                fields = (entry / "stat").read_text().rpartition(")")[2].split()
                command = (entry / "cmdline").read_bytes().replace(b"\0", b" ").decode(errors="replace")
                started = booted + int(fields[19]) / _TICKS
                cpu = (int(fields[11]) + int(fields[12])) / _TICKS
                pid = int(entry.name)
                found[pid] = Process(pid, int(fields[1]), command, started, cpu)
    return found


def of_sandboxes(data_dir: Path, sandbox_id: str = "") -> list[Process]:
    """Return the supervisors below a data folder, or that of one sandbox, with all their descendants."""
    processes = survey()
    sign = str(data_dir / "sandboxes" / sandbox_id)
    chosen = {pid for pid, process in processes.items() if sign in process.command}
    while more := {pid for pid, process in processes.items() if process.parent in chosen} - chosen:
        chosen |= more
    return [processes[pid] for pid in sorted(chosen)]
