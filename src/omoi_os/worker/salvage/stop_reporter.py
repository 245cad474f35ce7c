"""Stop the reporter of this sandbox from another process, with time to save its work."""

from __future__ import annotations

import asyncio
import os
import signal
from pathlib import Path

from omoi_os.worker.paths import WorkerPaths
from omoi_os.worker.processes import kill_tree

#: Parts of a reporter's command line. Its process id may belong to another process by now.
_REPORTERS = (b"omoi_os.worker.main ", b"omoi_os.worker.startup.warm_start ")


async def stop_reporter(paths: WorkerPaths, *, seconds: float) -> bool:
    """Stop the reporter with SIGTERM, and kill it after the timeout. Return whether it was running."""
    pid = _reporter(paths)
    if pid is None:
        return False
    try:
        ending = os.pidfd_open(pid)
    except ProcessLookupError:
        return False
    ended = asyncio.Event()
    loop = asyncio.get_running_loop()
    loop.add_reader(ending, ended.set)
    try:
        signal.pidfd_send_signal(ending, signal.SIGTERM)
        async with asyncio.timeout(seconds):
            await ended.wait()
    except ProcessLookupError:
        pass
    except TimeoutError:
        # It hangs, and it holds the gateway port.
        kill_tree(pid)
        await ended.wait()
    finally:
        loop.remove_reader(ending)
        os.close(ending)
    return True


def _reporter(paths: WorkerPaths) -> int | None:
    try:
        pid = int(paths.pid_file.read_text())
        command = Path(f"/proc/{pid}/cmdline").read_bytes()
    except (OSError, ValueError):
        return None
    return pid if pid > 0 and any(name in command for name in _REPORTERS) else None
