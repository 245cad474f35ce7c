"""Stopping: ends the reporter of this sandbox from another process, with time to save what it has."""

from __future__ import annotations

import asyncio
import os
import signal
from pathlib import Path

from omoi_os.worker.paths import Places
from omoi_os.worker.processes import kill_tree

#: What the command line of a reporter holds; its process id may belong to another process by now.
_REPORTERS = (b"omoi_os.worker.main ", b"omoi_os.worker.startup.warm ")


async def stop_worker(places: Places, *, seconds: float) -> bool:
    """Ask the reporter to save and go, if it still runs; kill it when it does not. True if it ran."""
    pid = _reporter(places)
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
        # It hangs, with the way to the gateway in its hands.
        kill_tree(pid)
        await ended.wait()
    finally:
        loop.remove_reader(ending)
        os.close(ending)
    return True


def _reporter(places: Places) -> int | None:
    try:
        pid = int(places.pid_file.read_text())
        command = Path(f"/proc/{pid}/cmdline").read_bytes()
    except (OSError, ValueError):
        return None
    return pid if pid > 0 and any(name in command for name in _REPORTERS) else None
