"""One command with everything that it starts, from its start to its end."""

from __future__ import annotations

import os
import select
import time
from collections.abc import Callable, Sequence

from omoi_os.providers.guest import process_trees

#: How a command came to its end, besides what its watches report.
EXITED, TIMEOUT = "exited", "timeout"

_CHUNK = 65536
#: The most chunks that can still be in a pipe once every process that writes to it is dead.
_LAST_CHUNKS = 32
_MAX_WAIT_SECONDS = 3600.0

Sink = Callable[[bytes], object]


class Watch:
    """Something besides its exit that ends a command."""

    #: When `look` has to be called at the latest.
    due = float("inf")

    def look(self, ready: set[int]) -> str:
        """Return why the command must end, or nothing. `ready` are the descriptors that became readable."""
        raise NotImplementedError


class HangUp(Watch):
    """The other end of a descriptor was closed: the caller no longer waits."""

    def __init__(self, fd: int) -> None:
        self.fd = fd

    def look(self, ready: set[int]) -> str:
        """Report "cancelled" at the end of the input."""
        return "cancelled" if self.fd in ready and not os.read(self.fd, 1) else ""


class Command:
    """A running command. Processes that leave its session or lose their parent belong to it too."""

    def __init__(self, launch: Callable[[list[int]], int], *, sinks: Sequence[Sink], wakeup: int) -> None:
        """Start it.

        `launch` gets the descriptors for standard output and error, and returns a pid. `sinks` receive the two
        outputs, or one receives both. `wakeup` is the descriptor of `process_trees.wake_on_child`.
        """
        self.poll = select.poll()
        self.poll.register(wakeup, select.POLLIN)
        self._wakeup = wakeup
        self._outputs: dict[int, Sink] = {}
        self._status: int | None = None
        ends = [self._open_output(sink) for sink in sinks]
        try:
            self.pid = launch([ends[0], ends[-1]])
        finally:
            for fd in ends:
                os.close(fd)

    def wait(self, seconds: float, *watches: Watch) -> str:
        """Pass its output on until it exits, its time is over or a watch ends it. Return which."""
        deadline = time.monotonic() + seconds
        while True:
            due = min([deadline, *(watch.due for watch in watches)])
            left = max(0.0, min(due - time.monotonic(), _MAX_WAIT_SECONDS))
            ready = {fd for fd, _ in self.poll.poll(left * 1000 + 1)}
            if self._wakeup in ready:
                os.read(self._wakeup, 4096)
            for fd in [fd for fd in self._outputs if fd in ready]:
                self._pass_on(fd)
            statuses: dict[int, int] = {}
            process_trees.reap(statuses)
            self._note(statuses)
            if self._status is not None:
                return EXITED
            for watch in watches:
                if reason := watch.look(ready):
                    return reason
            if time.monotonic() >= deadline:
                return TIMEOUT

    def kill(self, kill: Callable[..., bool], *, seconds: float) -> bool:
        """Kill everything with a function of `process_trees` and pass on the last output. Return False if some
        processes are left after that long."""
        statuses: dict[int, int] = {}
        dead = kill(statuses, seconds=seconds)
        self._note(statuses)
        for fd in list(self._outputs):
            # Not up to its end: a process elsewhere may hold it open.
            for _ in range(_LAST_CHUNKS):
                if not self._pass_on(fd):
                    break
        return dead

    @property
    def exit_code(self) -> int | None:
        """Its exit code, or the negative number of the signal that killed it; None while it runs."""
        return None if self._status is None else os.waitstatus_to_exitcode(self._status)

    def _note(self, statuses: dict[int, int]) -> None:
        self._status = statuses.get(self.pid, self._status)

    def _open_output(self, sink: Sink) -> int:
        reading, writing = os.pipe()
        os.set_blocking(reading, False)
        self._outputs[reading] = sink
        self.poll.register(reading, select.POLLIN)
        return writing

    def _pass_on(self, fd: int) -> bool:
        """Read once and pass it on. Return False if there was nothing to read."""
        try:
            chunk = os.read(fd, _CHUNK)
        except BlockingIOError:
            return False
        if chunk:
            self._outputs[fd](chunk)
        else:
            self.poll.unregister(fd)
            os.close(fd)
            del self._outputs[fd]
        return bool(chunk)


def shell_code(code: int | None) -> int:
    """Return an exit code as a shell reports it: a signal is 128 plus its number, and 126 means it did not run."""
    if code is None:
        return 126
    return code if code >= 0 else 128 - code


def end_of(code: int | None, *, reason: str, out_of_memory: bool = False, disk_full: bool = False) -> dict[str, object]:
    """Describe the end of a sandbox's first process: the reason, and its exit code or signal.

    `reason` holds unless the process exited by itself; then its exit code and the other arguments decide.
    """
    if reason == EXITED and out_of_memory:
        reason = "out_of_memory"
    elif reason == EXITED and disk_full:
        reason = "disk_full"
    elif reason == EXITED and code is not None and code < 0:
        reason = "signalled"
    elif reason == TIMEOUT:
        reason = "lifetime"
    signal = -code if code is not None and code < 0 else None
    return {"reason": reason, "exit_code": None if signal else code, "signal": signal}
