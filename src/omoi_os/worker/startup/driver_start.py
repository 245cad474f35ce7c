"""The agent child's start. It imports next to nothing, so that the SDK can be loading while the rest is imported."""

from __future__ import annotations

import _socket
import os

from omoi_os.worker.command import agent_argv

#: The variable that tells the agent's processes from all others.
MARK_NAME = "OMOI_AGENT"

#: The child's descriptor of the channel.
CHANNEL = 3

AGENT = agent_argv(CHANNEL)

#: Folders below the home that the agent's CLI is pointed to.
CACHE_FOLDERS = ("claude", "run")


class Launched:
    """A child that was started: its process id, our descriptors of the channel and of its errors, and its mark."""

    __slots__ = ("channel", "mark", "pid", "stderr")

    def __init__(self, pid: int, *, channel: int, stderr: int, mark: str) -> None:
        self.pid = pid
        self.channel = channel
        self.stderr = stderr
        self.mark = mark


def launch(home: str, argv: list[str] = AGENT) -> Launched:
    """Start it; it loads the SDK, says so, and knows nothing of any task until it gets the order to start."""
    for folder in CACHE_FOLDERS:
        os.makedirs(f"{home}/.cache/{folder}", mode=0o700, exist_ok=True)  # noqa: PTH103
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
    return Launched(pid, channel=ours.detach(), stderr=reading, mark=mark)
