"""Runs one command for whoever asked through the engine, and sees to it that nothing of it stays."""

import os
import select
import sys
import time
from typing import Any

from omoi_os.providers.docker.inside import files, launch, processes, wire
from omoi_os.providers.local.supervisor import kernel

#: How long the processes of one command may take to die.
KILL_SECONDS = 10.0

_CHUNK = 65536
#: What can still be in a pipe, in chunks, once every process that belongs to it is dead.
_LAST_CHUNKS = 32


class _Run:
    """One command, from its start to its end."""

    def __init__(self, request: dict[str, Any], given: int) -> None:
        self.deadline = time.monotonic() + float(request["seconds"])
        self.statuses: dict[int, int] = {}
        self.outputs: dict[int, int] = {}
        self.poll = select.poll()
        ends = [given, self._open_output(wire.STDOUT), self._open_output(wire.STDERR)]
        self.pid = launch.start(launch.Program(request, ends))
        for fd in ends:
            os.close(fd)
        self.pidfd = os.pidfd_open(self.pid)
        # Our own input ends when the caller gives up.
        for fd in (self.pidfd, 0):
            self.poll.register(fd, select.POLLIN)

    def _open_output(self, kind: int) -> int:
        reading, writing = os.pipe()
        os.set_blocking(reading, False)
        self.outputs[reading] = kind
        self.poll.register(reading, select.POLLIN)
        return writing

    def wait(self) -> dict[str, Any]:
        """Pass on what it prints until it ends or its time is over; then kill what is left, and say how it ended."""
        word = ""
        while not word:
            left = self.deadline - time.monotonic()
            ready = {fd for fd, _ in self.poll.poll(max(0.0, min(left, 86400.0)) * 1000 + 1)}
            for fd in [fd for fd in self.outputs if fd in ready]:
                self._pass_on(fd)
            if self.pidfd in ready:
                word = "exit"
            elif 0 in ready and not os.read(0, 1):
                word = "cancelled"
            elif time.monotonic() >= self.deadline:
                word = "timeout"
            processes.reap(self.statuses)
        if not processes.kill_descendants(self.statuses, seconds=KILL_SECONDS):
            return {"word": "refused", "code": 126, "message": "its processes would not die"}
        for fd in list(self.outputs):
            # Not to its end: a process elsewhere may have been given it.
            for _ in range(_LAST_CHUNKS):
                if not self._pass_on(fd):
                    break
        code = os.waitstatus_to_exitcode(self.statuses[self.pid])
        return {"word": word, "code": code if code >= 0 else 128 - code}

    def _pass_on(self, fd: int) -> bool:
        try:
            chunk = os.read(fd, _CHUNK)
        except BlockingIOError:
            return False
        if chunk:
            wire.write_all(1, wire.frame(self.outputs[fd], chunk))
        else:
            self.poll.unregister(fd)
            os.close(fd)
            del self.outputs[fd]
        return bool(chunk)


def main() -> None:
    """Do what the request on standard input asks for and answer in frames on standard output."""
    kernel.hide_memory()
    processes.adopt_orphans()
    try:
        request, given = wire.read_request(0)
    except EOFError:
        sys.exit(1)
    end = _answer(request, given)
    wire.write_all(1, wire.frame(wire.END, wire.encode(end)))


def _answer(request: dict[str, Any], given: int) -> dict[str, Any]:
    try:
        if request["do"] == "run":
            return _Run(request, given).wait()
        if request["do"] == "read":
            files.read(request["base"], request["parts"])
        else:
            files.write(request["base"], request["parts"], given)
    except launch.LaunchError as error:
        return {"word": "refused", "code": error.code, "message": str(error)}
    except OSError as error:
        return {"word": "failed", "errno": error.errno or 0, "message": str(error.strerror)}
    except ValueError as error:
        return {"word": "failed", "errno": 0, "message": str(error)}
    return {"word": "done"}
