"""The guest of a container whose streams the provider attaches to: a first process, and a program for each command.

As the first process of its pid namespace the guest can be neither killed nor stopped from inside, so that the lifetime
holds whatever the sandbox does and whether or not anything outside still runs.
"""

# No pathlib here: its import would be a good part of every command's start.
# ruff: noqa: PTH123

import os
import resource
import select
import signal
import sys
import time
from functools import partial
from typing import Any

from omoi_os.protocol import paths
from omoi_os.providers.guest import files, kernel, launch, process_trees, usage, wire
from omoi_os.providers.guest.command import Command, HangUp, end_of, shell_code
from omoi_os.providers.guest.disk_watch import DiskWatch
from omoi_os.providers.guest.launch import LaunchError
from omoi_os.providers.guest.tail import Tail

#: How long the container stays open for commands when it has no first process, or no longer has one.
OPEN_SECONDS = 3600.0

#: How long dying processes may take before the end is reported all the same.
END_SECONDS = 1.5

#: How long the processes of one command may take to die.
KILL_SECONDS = 10.0

#: How much of the first process's output is kept for the container's log, from each end.
OUTPUT_BYTES = 64 * 1024

#: The least time between two reports of the disk use, and the least change that is reported.
REPORT_SECONDS = 5.0
REPORT_BYTES = 1024 * 1024

#: Processes of the sandbox are killed for memory before the guest is.
_OOM_SCORE = b"500"


def supervise() -> None:
    """Run the sandbox's first process, report its end in the container's log, and keep the container open.

    The request comes on standard input. A container that is started again after its end, so that the work in it can be
    salvaged, gets none.
    """
    kernel.hide_memory()
    # The first process of a pid namespace gets no signal from inside that it has no handler for.
    signal.signal(signal.SIGINT, signal.SIG_DFL)
    wakeup = process_trees.wake_on_child()
    wire.write_line({"state": "up"})
    try:
        if _stay_open(wakeup, until_input=True):
            request, given = wire.read_request(0)
            os.close(given)
            _run_first(request, wakeup)
    except LaunchError as error:
        wire.write_line({"state": "failed", "message": str(error)})
        sys.exit(1)
    except EOFError:
        pass
    _stay_open(wakeup)


def serve() -> None:
    """Do what the request on standard input asks for, and answer in frames on standard output."""
    kernel.hide_memory()
    kernel.adopt_orphans()
    try:
        request, given = wire.read_request(0)
    except EOFError:
        sys.exit(1)
    end = _answer(request, given)
    wire.write_all(1, wire.frame(wire.END, wire.encode(end)))


class _ReportedDisk(DiskWatch):
    """A disk whose use is reported in the container's log from time to time, if it has changed."""

    _reported = 0
    _next_report = 0.0

    def look(self, ready: set[int]) -> str:
        """Measure, and report what has changed."""
        reason = super().look(ready)
        now = time.monotonic()
        if now >= self._next_report and abs(self.used - self._reported) >= REPORT_BYTES:
            self._reported, self._next_report = self.used, now + REPORT_SECONDS
            wire.write_line({"state": "using", "disk": self.used})
        return reason


def _stay_open(wakeup: int, *, until_input: bool = False) -> bool:
    """Reap for as long as the container stays open, or until there is a request. Return whether there is one."""
    poll = select.poll()
    poll.register(wakeup, select.POLLIN)
    if until_input:
        poll.register(0, select.POLLIN)
    until = time.monotonic() + OPEN_SECONDS
    while (left := until - time.monotonic()) > 0:
        ready = {fd for fd, _ in poll.poll(left * 1000 + 1)}
        if wakeup in ready:
            os.read(wakeup, 4096)
            process_trees.reap({})
        if 0 in ready:
            return True
    return False


def _run_first(request: dict[str, Any], wakeup: int) -> None:
    """Run the first process to its end and report it; its output follows for people. Raises `LaunchError`."""
    disk = _ReportedDisk([paths.HOME, paths.WORKSPACE], limit=int(request["disk"]))
    output = Tail(OUTPUT_BYTES)
    kills = usage.out_of_memory_kills(0)
    nothing = os.open(os.devnull, os.O_RDONLY)
    first = Command(partial(_launch, request, nothing), sinks=[output.add], wakeup=wakeup)
    os.close(nothing)
    wire.write_line({"state": "started"})
    reason = first.wait(float(request["seconds"]), disk)
    first.kill(process_trees.kill_all, seconds=END_SECONDS)
    code = first.exit_code if first.exit_code is not None else -kernel.SIGKILL
    killed = code in (-kernel.SIGKILL, 128 + kernel.SIGKILL)
    end = end_of(code, reason=reason, out_of_memory=killed and usage.out_of_memory_kills(0) > kills)
    wire.write_all(2, output.kept())
    wire.write_line({"state": "ended", "disk": disk.used, "memory": usage.peak_memory(), **end})


def _answer(request: dict[str, Any], given: int) -> dict[str, Any]:
    try:
        if request["do"] == "run":
            return _run(request, given)
        base = os.open(request["base"], files.FOLDER)
        if request["do"] == "read":
            for chunk in files.read(base, request["parts"]):
                wire.write_all(1, wire.frame(wire.CONTENT, chunk))
        else:
            files.write(base, request["parts"], files.chunks_of(given))
    except LaunchError as error:
        return {"word": "refused", "code": error.code, "message": str(error)}
    except OSError as error:
        return {"word": "failed", "errno": error.errno or 0, "message": str(error.strerror)}
    except ValueError as error:
        return {"word": "failed", "errno": 0, "message": f"it {error}"}
    return {"word": "done"}


def _run(request: dict[str, Any], given: int) -> dict[str, Any]:
    """Run a command to its end, until its time is over, or until the caller ends our input. Raises `LaunchError`."""
    sinks = [partial(_send, wire.STDOUT), partial(_send, wire.STDERR)]
    command = Command(partial(_launch, request, given), sinks=sinks, wakeup=process_trees.wake_on_child())
    command.poll.register(0, select.POLLIN)
    ended = command.wait(float(request["seconds"]), HangUp(0))
    if not command.kill(process_trees.kill_descendants, seconds=KILL_SECONDS):
        return {"word": "refused", "code": 126, "message": "its processes could not be killed"}
    return {"word": "exit" if ended == "exited" else ended, "code": shell_code(command.exit_code)}


def _send(kind: int, chunk: bytes) -> None:
    wire.write_all(1, wire.frame(kind, chunk))


def _launch(request: dict[str, Any], stdin: int, outputs: list[int]) -> int:
    program = launch.Program(
        list(request["argv"]),
        env=dict(request["env"]),
        cwd=request["cwd"],
        stdio=[stdin, *outputs],
        seccomp=bytes.fromhex(request["filter"]),
    )
    return launch.start(program, prepare=_prepare)


def _prepare() -> None:
    """Limit the process that becomes the program."""
    launch.set_limits(((resource.RLIMIT_CORE, 0), (resource.RLIMIT_NOFILE, launch.MAX_OPEN_FILES)))
    # A hidden process cannot write even its own file. Everything that could be seen of the guest is closed.
    kernel.show_memory()
    with open("/proc/self/oom_score_adj", "wb", buffering=0) as file:
        file.write(_OOM_SCORE)
