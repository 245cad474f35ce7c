"""Launch the agent driver. Imports next to nothing, so that the driver loads while the reporter does."""

from __future__ import annotations

import _socket
import os

from omoi_os.worker.command import driver_argv

#: The environment variable that marks every process of the agent.
MARK_NAME = "OMOI_AGENT"

#: The number of the channel's descriptor in the driver.
CHANNEL = 3

DRIVER = driver_argv(CHANNEL)


class LaunchedDriver:
    """A launched driver: its process id, our ends of its channel and its stderr, and its mark."""

    __slots__ = ("channel", "mark", "pid", "stderr")

    def __init__(self, pid: int, *, channel: int, stderr: int, mark: str) -> None:
        self.pid = pid
        self.channel = channel
        self.stderr = stderr
        self.mark = mark


def launch(home: str, argv: list[str] = DRIVER) -> LaunchedDriver:
    """Start the driver process. It knows nothing about any task until it gets `Start`. Raises `OSError`."""
    mark = os.urandom(8).hex()
    ours, theirs = _socket.socketpair(_socket.AF_UNIX, _socket.SOCK_STREAM)
    reading, writing = os.pipe()
    try:
        pid = os.posix_spawn(
            argv[0],
            argv,
            {"HOME": home, "LC_ALL": "C.UTF-8", MARK_NAME: mark},
            file_actions=[
                (os.POSIX_SPAWN_OPEN, 0, os.devnull, os.O_RDONLY, 0),
                (os.POSIX_SPAWN_OPEN, 1, os.devnull, os.O_WRONLY, 0),
                (os.POSIX_SPAWN_DUP2, writing, 2),
                (os.POSIX_SPAWN_DUP2, theirs.fileno(), CHANNEL),
            ],
            setsid=True,
            setsigmask=[],
        )
    except OSError:
        ours.close()
        os.close(reading)
        raise
    finally:
        theirs.close()
        os.close(writing)
    return LaunchedDriver(pid, channel=ours.detach(), stderr=reading, mark=mark)
