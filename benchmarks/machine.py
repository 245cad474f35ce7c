"""The machine that figures are measured on: how busy it is, and what of it others take."""

import os
import time
from dataclasses import dataclass
from pathlib import Path

from benchmarks.figures import percentile

_NAPS = 200
_NAP_SECONDS = 0.005
#: Where the first line of /proc/stat tells the ticks that the host gave to others.
_STOLEN = 7


@dataclass(frozen=True, slots=True)
class Machine:
    """The machine at one moment. A process that only sleeps is woken as late as everyone else."""

    load: float
    stolen: int
    ticks: int
    late_ms: float

    @classmethod
    def now(cls) -> "Machine":
        """Look at it for a second, while nothing of ours runs."""
        ticks = [int(each) for each in Path("/proc/stat").read_text().split("\n", 1)[0].split()[1:9]]
        return cls(os.getloadavg()[0], ticks[_STOLEN], sum(ticks), percentile([_nap() for _ in range(_NAPS)], 0.99))

    def since(self, before: "Machine") -> str:
        """What happened to it meanwhile, for the report's first line."""
        stolen = (self.stolen - before.stolen) / max(1, self.ticks - before.ticks)
        return (
            f"{os.cpu_count()} cores, kernel {os.uname().release}; "
            f"load {before.load:.2f} before, {self.load:.2f} after; "
            f"the host gave {stolen:.0%} of the processors to others meanwhile; "
            f"at rest a sleeping process is woken {before.late_ms:.1f} and {self.late_ms:.1f} ms late (p99)"
        )


def _nap() -> float:
    began = time.perf_counter()
    time.sleep(_NAP_SECONDS)
    return (time.perf_counter() - began - _NAP_SECONDS) * 1000
