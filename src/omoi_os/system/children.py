"""Child processes that end with the process that started them."""

import ctypes
import os
import signal
from collections.abc import Callable
from contextlib import suppress
from pathlib import Path

_PR_SET_PDEATHSIG = 1
_libc = ctypes.CDLL(None, use_errno=True)


def die_with_parent(number: signal.Signals) -> Callable[[], None]:
    """Return a `preexec_fn` that sends the child this signal when its parent ends in any way, `kill -9` included.

    The kernel watches the thread that starts the child, so start it from the main thread: asyncio's subprocesses are,
    what runs in `asyncio.to_thread` is not. Children of the child are not covered; see `kill_marked`.
    """
    parent = os.getpid()

    def arrange() -> None:
        _libc.prctl(_PR_SET_PDEATHSIG, number, 0, 0, 0)
        if os.getppid() != parent:
            os._exit(1)

    return arrange


def kill_marked(name: str, value: str) -> int:
    """Kill every process of ours that has this variable in its environment, and return how many there were.

    A process inherits its environment, so this finds the descendants of a child that is gone.
    """
    marked = f"\0{name}={value}\0".encode()
    killed = 0
    for found in Path("/proc").glob("[0-9]*"):
        # Others' processes cannot be read, and any may end meanwhile.
        with suppress(OSError):
            if marked in b"\0" + (found / "environ").read_bytes():
                os.kill(int(found.name), signal.SIGKILL)
                killed += 1
    return killed
