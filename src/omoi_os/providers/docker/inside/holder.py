"""The container's first process: starts the sandbox's own, tells how it ended, and holds the container open.

Being the first in its pid namespace it can be neither killed nor stopped from inside, so that the lifetime holds
whatever the sandbox does and whether or not anybody outside still lives.
"""

import os
import select
import signal
import sys
import time
from typing import Any

from omoi_os.protocol import paths
from omoi_os.providers.docker.inside import launch, memory, processes, wire
from omoi_os.providers.docker.inside.disk import Disk
from omoi_os.providers.local.supervisor import kernel
from omoi_os.providers.local.supervisor.tail import Tail

#: How long the container stays open for commands when there is no first process, or no longer.
HOLD_SECONDS = 3600.0

#: How long the dying may take before the end is told all the same.
END_SECONDS = 1.5

#: How much of the first process's output is kept for a look afterwards, from each end.
OUTPUT_BYTES = 64 * 1024


#: How often the use of the disk is told at the most, and which change is worth it.
TELL_SECONDS = 5.0
WORTH_TELLING_BYTES = 1024 * 1024


class Holder:
    """One sandbox, from its start to its end."""

    def __init__(self) -> None:
        self.poll = select.poll()
        self.statuses: dict[int, int] = {}
        self.output = Tail(OUTPUT_BYTES)
        self.pid = 0
        self.pipe = -1
        self.told = 0
        self.next_word = 0.0
        # A child's end, adopted ones included, wakes the poll.
        self.bell, ring = os.pipe()
        os.set_blocking(self.bell, False)
        os.set_blocking(ring, False)
        signal.signal(signal.SIGCHLD, lambda *_: None)
        # A first process without a handler is not to be interrupted from inside.
        signal.signal(signal.SIGINT, signal.SIG_DFL)
        signal.set_wakeup_fd(ring, warn_on_full_buffer=False)
        self.poll.register(self.bell, select.POLLIN)

    def hears(self) -> bool:
        """Wait for somebody to speak to the container; False if nobody does."""
        self.poll.register(0, select.POLLIN)
        until = time.monotonic() + HOLD_SECONDS
        heard = False
        while not heard and time.monotonic() < until:
            heard = 0 in self._wait(until)
        self.poll.unregister(0)
        return heard

    def start(self, request: dict[str, Any]) -> None:
        """Start the first process. Raises `LaunchError`."""
        self.deadline = time.monotonic() + float(request["seconds"])
        self.disk = Disk([paths.HOME, paths.WORKSPACE], limit=int(request["disk"]))
        self.pipe, writing = os.pipe()
        os.set_blocking(self.pipe, False)
        nothing = os.open(os.devnull, os.O_RDONLY)
        self.pid = launch.start(launch.Program(request, [nothing, writing, writing]))
        os.close(writing)
        os.close(nothing)
        self.poll.register(self.pipe, select.POLLIN)

    def run(self) -> None:
        """Wait until the sandbox ends, in whatever way, and tell which."""
        reason = ""
        while not reason:
            ready = self._wait(min(self.deadline, self.disk.due))
            if self.pipe in ready and not self._keep_output():
                self.poll.unregister(self.pipe)
            self.disk.step()
            self._tell_use()
            if self.pid in self.statuses:
                reason = "exited"
            elif self.disk.full:
                reason = "disk_full"
            elif time.monotonic() >= self.deadline:
                reason = "lifetime"
        self._end(reason)

    def _tell_use(self) -> None:
        """Tell the use of the disk now and then, if it has changed; the log is read by whoever asks."""
        now = time.monotonic()
        if now >= self.next_word and abs(self.disk.used - self.told) >= WORTH_TELLING_BYTES:
            self.told, self.next_word = self.disk.used, now + TELL_SECONDS
            wire.say({"state": "using", "disk": self.told})

    def hold(self) -> None:
        """Keep the container open for commands."""
        until = time.monotonic() + HOLD_SECONDS
        while time.monotonic() < until:
            self._wait(until)

    def _wait(self, until: float) -> set[int]:
        left = max(0.0, min(until - time.monotonic(), 3600.0))
        ready = {fd for fd, _ in self.poll.poll(left * 1000 + 1)}
        if self.bell in ready:
            os.read(self.bell, 4096)
            processes.reap(self.statuses)
            # Only the first process's end matters; adopted ones are countless.
            self.statuses = {pid: status for pid, status in self.statuses.items() if pid == self.pid}
        return ready

    def _keep_output(self) -> bool:
        """Take in what the first process has printed; False when there will be no more."""
        try:
            chunk = os.read(self.pipe, 65536)
        except BlockingIOError:
            return True
        self.output.add(chunk)
        return bool(chunk)

    def _end(self, reason: str) -> None:
        """Kill everything and tell how it ended; then the last output, for people."""
        processes.kill_all(self.statuses, seconds=END_SECONDS)
        self._keep_output()
        os.close(self.pipe)
        status = self.statuses.get(self.pid)
        code = os.waitstatus_to_exitcode(status) if status is not None else -kernel.SIGKILL
        starved = code in (-kernel.SIGKILL, 128 + kernel.SIGKILL) and memory.kills() > 0
        if reason == "exited" and starved:
            reason = "out_of_memory"
        elif reason == "exited" and code < 0:
            reason = "signalled"
        wire.write_all(2, self.output.kept())
        end = {"exit_code": code} if code >= 0 else {"signal": -code}
        wire.say({"state": "ended", "reason": reason, "disk": self.disk.used, **memory.usage(), **end})


def main() -> None:
    """Say that the container is up, take the request on standard input, hold the sandbox, then the container.

    Started again after its end, so that what is in it can be saved, the container gets no request.
    """
    kernel.hide_memory()
    holder = Holder()
    wire.say({"state": "up"})
    try:
        if holder.hears():
            request, given = wire.read_request(0)
            os.close(given)
            holder.start(request)
            wire.say({"state": "started"})
            holder.run()
    except launch.LaunchError as error:
        wire.say({"state": "failed", "message": str(error)})
        sys.exit(1)
    except EOFError:
        holder.hold()
    else:
        holder.hold()
