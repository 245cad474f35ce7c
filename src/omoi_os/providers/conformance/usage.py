"""What a sandbox uses is reported while it is alive."""

from collections.abc import Callable
from datetime import timedelta

from omoi_os.conformance import Failed, collector
from omoi_os.providers.base import SandboxRef, SandboxReport
from omoi_os.providers.conformance.bench import MEBIBYTE, Bench
from omoi_os.providers.conformance.guarantees import Check, Guarantee

CHECKS: list[Check] = []
_check = collector(CHECKS)

_HOLD = """
import os, signal, sys
held = b'x' * (32 << 20)
file = open('held', 'wb'); file.write(os.urandom(16 << 20)); file.flush(); os.fsync(file.fileno())
for _ in range(3):
    if os.fork() == 0: break
while sum(os.times()[:2]) < 0.5: pass
while True: signal.pause()
"""


@_check(Guarantee.USAGE)
async def memory_in_use_is_reported(bench: Bench) -> None:
    """Thirty-two megabytes that are held are counted."""
    await _told(bench, lambda report: report.memory_bytes, at_least=32 * MEBIBYTE)


@_check(Guarantee.USAGE)
async def processor_time_is_reported(bench: Bench) -> None:
    """Half a second that was used is counted."""
    await _told(bench, lambda report: report.cpu_seconds, at_least=0.4)


@_check(Guarantee.USAGE)
async def disk_in_use_is_reported(bench: Bench) -> None:
    """Sixteen megabytes that were written are counted."""
    await _told(bench, lambda report: report.disk_bytes, at_least=16 * MEBIBYTE)


@_check(Guarantee.USAGE)
async def processes_are_counted(bench: Bench) -> None:
    """Four processes are at least four."""
    await _told(bench, lambda report: report.pids, at_least=4)


async def _told(bench: Bench, part: Callable[[SandboxReport], float | None], *, at_least: float) -> None:
    ref: SandboxRef = await bench.make(bench.code(_HOLD))
    turns = max(2, int(bench.pace.notice.total_seconds() * 2))
    for _ in range(turns):
        # Waiting for an end that does not come leaves time for what is measured periodically.
        report = await bench.within(bench.provider.inspect(ref, wait=timedelta(seconds=0.5)), "inspect")
        value = part(report)
        if value is not None and value >= at_least:
            return
    raise Failed(f"at least {at_least:g} is used, but {value} was reported")
