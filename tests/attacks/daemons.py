"""Attack 29: processes that do not want to go."""

import contextlib
import os
import secrets
import signal
import time
from pathlib import Path

from omoi_os.conformance import collector, expect
from omoi_os.providers.conformance import Bench, Check, Guarantee
from omoi_os.providers.conformance.trees import ALL_UP, TREE
from omoi_os.providers.local.supervisor import processes

CHECKS: list[Check] = []
_check = collector(CHECKS)

_GONE_SECONDS = 2.0


def _marked(mark: str) -> list[int]:
    """The processes of this machine, in sandboxes too, with the mark on their command line."""
    found = []
    for entry in Path("/proc").iterdir():
        try:
            if entry.name.isdigit() and mark.encode() in (entry / "cmdline").read_bytes():
                found.append(os.pidfd_open(int(entry.name)))
        except OSError:
            continue
    return found


def _milliseconds(until: float) -> int:
    return max(0, int((until - time.monotonic()) * 1000))


@_check(Guarantee.LIFE)
async def deaf_daemons_are_gone_with_the_sandbox(bench: Bench) -> None:
    """Children, other sessions and orphans that ignore every wish to stop are dead when it is destroyed."""
    mark = secrets.token_hex(8)
    ref = await bench.make(bench.code(TREE, "stay", mark))
    await bench.exec(ref, bench.code(ALL_UP))
    descriptors = _marked(mark)
    expect(len(descriptors) >= 4, f"{len(descriptors)} of 4 processes came up, so nothing can be said")
    await bench.provider.destroy(ref)
    until = time.monotonic() + _GONE_SECONDS
    left = [pidfd for pidfd in descriptors if not processes.has_ended(pidfd, wait_ms=_milliseconds(until))]
    for pidfd in descriptors:
        if pidfd in left:
            # Killing one of them may end the others.
            with contextlib.suppress(ProcessLookupError):
                signal.pidfd_send_signal(pidfd, signal.SIGKILL)
        os.close(pidfd)
    expect(not left, f"{len(left)} of {len(descriptors)} processes were left")
