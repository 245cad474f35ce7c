"""The machine that figures are measured on: its load, and the share that other guests of the host take."""

import os
import time
from dataclasses import dataclass
from pathlib import Path

from benchmarks.figures import percentile

_NAPS = 200
_NAP_SECONDS = 0.005
#: The column of /proc/stat's first line with the ticks that the host gave to others.
_STOLEN = 7


@dataclass(frozen=True, slots=True)
class Machine:
    """The machine at one moment. How late a sleeping process is woken shows how late everything is."""

    load: float
    stolen: int
    ticks: int
    late_ms: float

    @classmethod
    def now(cls) -> "Machine":
        """Measure it for a second while nothing else runs."""
        ticks = [int(each) for each in Path("/proc/stat").read_text().split("\n", 1)[0].split()[1:9]]
        return cls(os.getloadavg()[0], ticks[_STOLEN], sum(ticks), percentile([_nap() for _ in range(_NAPS)], 0.99))

    def since(self, before: "Machine") -> str:
        """Return the report's first line: what changed since `before`."""
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
