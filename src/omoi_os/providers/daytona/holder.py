"""Runs inside a Daytona sandbox: holds a command, ends its whole tree, tells how it ended. Standard library only."""

# It is sent along with every command, as one text, and must start quickly: one file, no pathlib.
# ruff: noqa: PTH103, PTH105, PTH108, PTH110, PTH112, PTH123, PTH208

import base64
import contextlib
import ctypes
import json
import os
import resource
import select
import selectors
import signal
import subprocess
import sys
import time
from collections.abc import Iterator
from typing import Any

_SUBREAPER = 36
_CHUNK = 65536
_KILL_SECONDS = 5.0
#: What a full disk still has free.
_DISK_FULL_BYTES = 1 << 20
_CGROUP = "/sys/fs/cgroup"


class Kept:
    """The first and the last `size` bytes of an output of any length."""

    def __init__(self, size: int) -> None:
        self.size = size
        self.head = bytearray()
        self.rest = bytearray()
        self.cut = False

    def add(self, chunk: bytes) -> None:
        """Take in more output."""
        room = self.size - len(self.head)
        self.head += chunk[:room]
        self.rest += chunk[room:]
        if len(self.rest) > 2 * self.size:
            self._trim()

    def text(self) -> bytes:
        """What was kept, in order."""
        self._trim()
        return bytes(self.head + self.rest)

    def _trim(self) -> None:
        if len(self.rest) > self.size:
            self.cut = True
            del self.rest[: -self.size]


class Tree:
    """One command with all that it starts, also what leaves its session or loses its parent."""

    def __init__(self, request: dict[str, Any], *, stdin: int, keep: int) -> None:
        # Whoever loses its parent becomes a child of this process and so stays in reach.
        ctypes.CDLL(None).prctl(_SUBREAPER, 1, 0, 0, 0)
        self.asked_to_stop = False
        self.timed_out = False
        self.status: int | None = None
        self.selector = selectors.DefaultSelector()
        self._listen_to_signals()
        self.process = subprocess.Popen(
            request["argv"],
            env=request["env"],
            cwd=request["cwd"],
            stdin=stdin,
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            start_new_session=True,
        )
        self.kept = [Kept(keep), Kept(keep)]
        for pipe, kept in zip((self.process.stdout, self.process.stderr), self.kept):  # noqa: B905
            assert pipe is not None  # noqa: S101
            os.set_blocking(pipe.fileno(), False)
            self.selector.register(pipe, selectors.EVENT_READ, kept)

    def run(self, seconds: float) -> bool:
        """Hold it to its end or for so long; False if its processes would not die."""
        deadline = time.monotonic() + seconds
        while self.status is None and not self.asked_to_stop:
            left = deadline - time.monotonic()
            if left <= 0:
                self.timed_out = True
                break
            self._take(left)
            self._reap()
        dead = self._kill()
        self._take(0)
        return dead

    def exit_code(self) -> int:
        """As a shell would say it: a signal is 128 more than its number."""
        code = os.waitstatus_to_exitcode(self.status) if self.status is not None else 126
        return code if code >= 0 else 128 - code

    def _listen_to_signals(self) -> None:
        read_end, write_end = os.pipe()
        os.set_blocking(read_end, False)
        os.set_blocking(write_end, False)
        signal.set_wakeup_fd(write_end, warn_on_full_buffer=False)
        signal.signal(signal.SIGCHLD, lambda *_: None)
        signal.signal(signal.SIGTERM, self._stop)
        self.selector.register(read_end, selectors.EVENT_READ, None)

    def _stop(self, *_: object) -> None:
        self.asked_to_stop = True

    def _take(self, seconds: float) -> None:
        """Read what is there, waiting so long for the first of it; without waiting, all of it."""
        while True:
            ready = self.selector.select(seconds)
            for key, _ in ready:
                with contextlib.suppress(BlockingIOError):
                    chunk = os.read(key.fd, _CHUNK)
                    if key.data is not None:
                        key.data.add(chunk)
                    if not chunk:
                        self.selector.unregister(key.fileobj)
            if seconds or not ready:
                return

    def _reap(self) -> bool:
        """Take in the dead; False when no child is left at all."""
        while True:
            try:
                pid, status = os.waitpid(-1, os.WNOHANG)
            except ChildProcessError:
                return False
            if pid == self.process.pid:
                self.status = status
                self.process.returncode = os.waitstatus_to_exitcode(status)
            if pid == 0:
                return True

    def _kill(self) -> bool:
        """Kill all that is left, until nothing is."""
        deadline = time.monotonic() + _KILL_SECONDS
        while self._reap():
            if time.monotonic() > deadline:
                return False
            for pid in descendants(os.getpid()):
                with contextlib.suppress(ProcessLookupError):
                    os.kill(pid, signal.SIGKILL)
            self._take(0.02)
        return True


def descendants(root: int) -> list[int]:
    """Every process below this one."""
    children: dict[int, list[int]] = {}
    for pid, parent in _parents():
        children.setdefault(parent, []).append(pid)
    found: list[int] = []
    waiting = [root]
    while waiting:
        below = children.get(waiting.pop(), [])
        found += below
        waiting += below
    return found


def _parents() -> Iterator[tuple[int, int]]:
    for name in os.listdir("/proc"):
        if name.isdigit():
            with contextlib.suppress(OSError, ValueError, IndexError):
                # The name, in brackets, may hold anything.
                yield int(name), int(_read(f"/proc/{name}/stat").rpartition(")")[2].split()[1])


def run(request: dict[str, Any]) -> dict[str, Any]:
    """Run one command to its end."""
    stdin = os.open(request["stdin"] or os.devnull, os.O_RDONLY)
    if request["stdin"]:
        os.unlink(request["stdin"])
    request["env"] = json.loads(_read(request["start"]))["env"]
    try:
        tree = Tree(request, stdin=stdin, keep=request["keep"])
    except (OSError, ValueError) as error:
        return _refusal(request, error)
    dead = tree.run(request["timeout"])
    out, err = (kept.text() for kept in tree.kept)
    ended = {"exit": tree.exit_code(), "timeout": tree.timed_out, "stopped": tree.asked_to_stop, "dead": dead}
    told = {**ended, "cut": any(kept.cut for kept in tree.kept), "out_size": len(out)}
    if len(out) + len(err) <= request["inline"]:
        return {**told, "all": base64.b64encode(out + err).decode()}
    with open(request["output"], "wb") as file:
        file.write(out + err)
    return {**told, "all": None}


def first(request: dict[str, Any]) -> dict[str, Any]:
    """Hold the first process for the sandbox's lifetime and leave word of how it ended."""
    start = json.loads(_read(request["start"]))
    kills = out_of_memory_kills(start["memory_bytes"])
    try:
        tree = Tree(start, stdin=os.open(os.devnull, os.O_RDONLY), keep=_CHUNK)
    except (OSError, ValueError) as error:
        end = {"reason": "exited", "exit_code": _refusal(start, error)["exit"], "signal": None}
    else:
        tree.run(start["lifetime"])
        end = {
            **_end(tree, start, killed_for_memory=out_of_memory_kills(start["memory_bytes"]) > kills),
            **usage(start),
        }
        for kept, stream in zip(tree.kept, (sys.stdout, sys.stderr)):  # noqa: B905
            stream.buffer.write(kept.text())
    _write(request["end"], json.dumps(end))
    return end


def _end(tree: Tree, start: dict[str, Any], *, killed_for_memory: bool) -> dict[str, Any]:
    code = os.waitstatus_to_exitcode(tree.status) if tree.status is not None else None
    reason = "exited"
    if tree.timed_out:
        reason = "lifetime"
    elif tree.asked_to_stop:
        reason = "destroyed"
    elif code and killed_for_memory:
        reason = "out_of_memory"
    elif code and any(_free(place) < _DISK_FULL_BYTES for place in start["places"]):
        reason = "disk_full"
    elif code is not None and code < 0:
        reason = "signalled"
    signalled = code is not None and code < 0
    return {"reason": reason, "exit_code": None if signalled else code, "signal": -(code or 0) if signalled else None}


def usage(request: dict[str, Any]) -> dict[str, Any]:
    """What the sandbox uses: by its control group where that can be seen, else by its processes."""
    processor = dict(line.split() for line in _peek(f"{_CGROUP}/cpu.stat").splitlines())
    memory, ticks, pids = _counted()
    seconds = int(processor["usage_usec"]) / 1e6 if "usage_usec" in processor else ticks / os.sysconf("SC_CLK_TCK")
    used = [os.statvfs(place) for place in request["places"]]
    return {
        "memory_bytes": _number(_peek(f"{_CGROUP}/memory.current"), otherwise=memory),
        "cpu_seconds": seconds,
        "pids": _number(_peek(f"{_CGROUP}/pids.current"), otherwise=pids),
        "disk_bytes": max((place.f_blocks - place.f_bfree) * place.f_frsize for place in used),
    }


def _counted() -> tuple[int, int, int]:
    """Memory, clock ticks and number of the processes that can be seen."""
    memory = ticks = pids = 0
    for pid, _ in _parents():
        fields = _peek(f"/proc/{pid}/stat").rpartition(")")[2].split()
        if len(fields) > 21:
            pids += int(fields[17])
            ticks += sum(int(field) for field in fields[11:15])
            memory += int(fields[21]) * os.sysconf("SC_PAGE_SIZE")
    return memory, ticks, pids


def out_of_memory_kills(memory_bytes: int) -> int:
    """How often the kernel killed for memory in this sandbox.

    Where its control group cannot be seen only the whole machine's number is left: then it counts
    once something of ours has used a good part of what it may.
    """
    for path in (f"{_CGROUP}/memory.events", f"{_CGROUP}/memory/memory.oom_control"):
        if text := _peek(path):
            return _kills(text)
    largest = resource.getrusage(resource.RUSAGE_CHILDREN).ru_maxrss * 1024
    return _kills(_peek("/proc/vmstat")) if largest == 0 or largest > memory_bytes // 2 else 0


def _kills(text: str) -> int:
    return next((int(line.split()[1]) for line in text.splitlines() if line.startswith("oom_kill ")), 0)


def stop(request: dict[str, Any]) -> dict[str, Any]:
    """End the command that another holder runs under this mark; tells whether that holder is gone."""
    dead = True
    for pid, _ in list(_parents()):
        with contextlib.suppress(OSError, IndexError):
            # The last argument; our own is that of this very call.
            if pid != os.getpid() and _read(f"/proc/{pid}/cmdline").split("\0")[-2] == request["mark"]:
                gone = os.pidfd_open(pid)
                os.kill(pid, signal.SIGTERM)
                dead &= bool(select.select([gone], [], [], _KILL_SECONDS + 1)[0])
    return {"dead": dead}


def check(request: dict[str, Any]) -> dict[str, Any]:
    """Whether this place can hold a sandbox: its folders are there and can be written."""
    for place in request["places"]:
        os.makedirs(place, exist_ok=True)
        if not os.access(place, os.W_OK | os.X_OK):
            raise PermissionError(f"{place} cannot be written")
    missing = [path for path in request["needed"] if not os.path.exists(path)]
    return {"missing": missing}


def _refusal(request: dict[str, Any], error: Exception) -> dict[str, Any]:
    code = 127 if isinstance(error, FileNotFoundError) and os.path.isdir(request["cwd"]) else 126
    text = base64.b64encode(f"{request['argv'][0]}: {error}\n".encode(errors="replace")).decode()
    return {"exit": code, "timeout": False, "stopped": False, "dead": True, "cut": False, "out_size": 0, "all": text}


def _free(place: str) -> int:
    seen = os.statvfs(place)
    return seen.f_bavail * seen.f_frsize


def _number(text: str, *, otherwise: int) -> int:
    return int(text) if text.strip().isdigit() else otherwise


def _peek(path: str) -> str:
    try:
        return _read(path)
    except OSError:
        return ""


def _read(path: str) -> str:
    with open(path, encoding="utf-8", errors="surrogateescape") as file:
        return file.read()


def _write(path: str, text: str) -> None:
    with open(f"{path}.new", "w", encoding="utf-8") as file:
        file.write(text)
    os.replace(f"{path}.new", path)


def main(arguments: list[str]) -> int:
    """Do what the first argument says with the request in the second; the third marks this holder."""
    mode, document = arguments[0], arguments[1]
    text = _read(document[1:]) if document.startswith("@") else base64.urlsafe_b64decode(document).decode()
    if document.startswith("@"):
        os.unlink(document[1:])
    modes = {"run": run, "first": first, "stop": stop, "check": check, "usage": usage}
    answer = modes[mode](json.loads(text))
    if mode == "first":
        code = answer["exit_code"]
        return int(code) if code is not None else 128 + int(answer["signal"] or 0)
    sys.stdout.write(json.dumps(answer))
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
