"""The guest of a sandbox in which the provider can only run command lines: each call is one process.

The first argument is what to do, the second the request as base64 or `@` and a file, the third a mark by which another
call finds this process. The answer is a JSON document on standard output.
"""

# It is sent with every call and must start quickly: no pathlib.
# ruff: noqa: PTH103, PTH105, PTH108, PTH110, PTH123

from __future__ import annotations

import base64
import json
import os
import select
import signal
import sys
from functools import partial
from typing import Any

from omoi_os.providers.guest import files, kernel, launch, process_trees, usage
from omoi_os.providers.guest.command import Command, Watch, end_of, shell_code
from omoi_os.providers.guest.tail import Tail

_KILL_SECONDS = 5.0
#: How much of the first process's output is kept, from each end.
_OUTPUT_BYTES = 65536


class _Terminated(Watch):
    """This process was asked to end, by `stop`."""

    def __init__(self) -> None:
        self.asked = False
        signal.signal(signal.SIGTERM, self._note)

    def look(self, ready: set[int]) -> str:
        """Report "stopped" once the signal has arrived."""
        return "stopped" if self.asked else ""

    def _note(self, *_: object) -> None:
        self.asked = True


def main(arguments: list[str]) -> int:
    """Do what the arguments ask for and return the exit code."""
    mode, document = arguments[0], arguments[1]
    text = _read(document[1:]) if document.startswith("@") else base64.urlsafe_b64decode(document).decode()
    if document.startswith("@"):
        os.unlink(document[1:])
    request = json.loads(text)
    if mode == "first":
        return run_first(request)
    modes = {"run": run, "stop": stop, "check": check, "usage": use, "place": place, "copy": copy}
    sys.stdout.write(json.dumps(modes[mode](request)))
    return 0


def run(request: dict[str, Any]) -> dict[str, Any]:
    """Run one command to its end."""
    stdin = os.open(request["stdin"] or os.devnull, os.O_RDONLY)
    if request["stdin"]:
        os.unlink(request["stdin"])
    program = {**request, "env": json.loads(_read(request["start"]))["env"]}
    outputs = [Tail(request["keep"]), Tail(request["keep"])]
    terminated = _Terminated()
    try:
        command = _start(program, stdin, outputs)
    except launch.LaunchError as error:
        outputs[1].add(f"{error}\n".encode(errors="replace"))
        ended = {"exit": error.code, "timeout": False, "stopped": False, "dead": True}
    else:
        reason = command.wait(request["timeout"], terminated)
        dead = command.kill(process_trees.kill_descendants, seconds=_KILL_SECONDS)
        ended = {"exit": shell_code(command.exit_code), "timeout": reason == "timeout", "stopped": reason == "stopped"}
        ended["dead"] = dead
    out, err = (output.kept() for output in outputs)
    answer = {**ended, "cut": any(output.truncated for output in outputs), "out_size": len(out)}
    if len(out) + len(err) <= request["inline"]:
        return {**answer, "all": base64.b64encode(out + err).decode()}
    with open(request["output"], "wb") as file:
        file.write(out + err)
    return {**answer, "all": None}


def run_first(request: dict[str, Any]) -> int:
    """Run the sandbox's first process for at most its lifetime, record how it ended and return its exit code."""
    start = json.loads(_read(request["start"]))
    kills = usage.out_of_memory_kills(start["memory_bytes"])
    outputs = [Tail(_OUTPUT_BYTES), Tail(_OUTPUT_BYTES)]
    terminated = _Terminated()
    try:
        command = _start(start, os.open(os.devnull, os.O_RDONLY), outputs)
    except launch.LaunchError as error:
        code: int | None = error.code
        end = end_of(code, reason="exited")
    else:
        reason = command.wait(start["lifetime"], terminated)
        command.kill(process_trees.kill_descendants, seconds=_KILL_SECONDS)
        code = command.exit_code
        end = end_of(
            code,
            reason="destroyed" if reason == "stopped" else reason,
            out_of_memory=bool(code) and usage.out_of_memory_kills(start["memory_bytes"]) > kills,
            disk_full=bool(code) and usage.is_disk_full(start["places"]),
        )
        end.update(usage.current(start["places"]))
    for output, stream in zip(outputs, (sys.stdout, sys.stderr)):  # noqa: B905 - Python 3.9 has no `strict`
        stream.buffer.write(output.kept())
    _replace(request["end"], json.dumps(end))
    return shell_code(code)


def use(request: dict[str, Any]) -> dict[str, Any]:
    """Return what the sandbox uses."""
    return dict(usage.current(request["places"]))


def stop(request: dict[str, Any]) -> dict[str, Any]:
    """End the command that another call runs under this mark. Return whether that call is gone."""
    dead = True
    for pid in process_trees.pids():
        try:
            # The mark is the last argument; in our own command line it is part of the request.
            if pid == os.getpid() or _read(f"/proc/{pid}/cmdline").split("\0")[-2] != request["mark"]:
                continue
            gone = os.pidfd_open(pid)
            os.kill(pid, signal.SIGTERM)
        except (OSError, IndexError):
            continue
        dead &= bool(select.select([gone], [], [], _KILL_SECONDS + 1)[0])
    return {"dead": dead}


def check(request: dict[str, Any]) -> dict[str, Any]:
    """Check that the sandbox's folders are writable, creating them. Return which of the needed files are missing."""
    for folder in request["places"]:
        os.makedirs(folder, exist_ok=True)
        if not os.access(folder, os.W_OK | os.X_OK):
            raise PermissionError(f"{folder} is not writable")
    return {"missing": [path for path in request["needed"] if not os.path.exists(path)]}


def place(request: dict[str, Any]) -> dict[str, Any]:
    """Move an uploaded file to its path, creating its parents."""
    source = os.open(request["source"], os.O_RDONLY)
    os.unlink(request["source"])
    folder, parts = files.locate(request["path"], request["places"])
    try:
        files.write(os.open(folder, os.O_RDONLY | os.O_DIRECTORY), parts, files.chunks_of(source))
    except OSError as error:
        return {"error": str(error)}
    return {"error": None}


def copy(request: dict[str, Any]) -> dict[str, Any]:
    """Copy a file to a path from which it can be downloaded."""
    folder, parts = files.locate(request["path"], request["places"])
    try:
        with open(request["target"], "wb") as target:
            for chunk in files.read(os.open(folder, os.O_RDONLY | os.O_DIRECTORY), parts):
                target.write(chunk)
    except (OSError, ValueError) as error:
        return {"error": str(error)}
    return {"error": None}


def _start(request: dict[str, Any], stdin: int, outputs: list[Tail]) -> Command:
    """Start a program. Raises `LaunchError`."""
    kernel.adopt_orphans()
    wakeup = process_trees.wake_on_child()
    return Command(partial(_launch, request, stdin), sinks=[output.add for output in outputs], wakeup=wakeup)


def _launch(request: dict[str, Any], stdin: int, outputs: list[int]) -> int:
    program = launch.Program(
        request["argv"], env=request["env"], cwd=request["cwd"], stdio=[stdin, *outputs], seccomp=None
    )
    return launch.start(program)


def _read(path: str) -> str:
    with open(path, encoding="utf-8", errors="surrogateescape") as file:
        return file.read()


def _replace(path: str, text: str) -> None:
    with open(f"{path}.new", "w", encoding="utf-8") as file:
        file.write(text)
    os.replace(f"{path}.new", path)
