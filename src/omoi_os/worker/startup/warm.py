"""Waiting: the first stage of a warm sandbox's reporter. The agent's SDK loads, and nothing is known of any task.

It may last for half an hour, so it imports next to nothing. Exit codes: those of `main`; 1 also when the agent's child
dies before there is a task, 2 when there was one before.
"""

from __future__ import annotations

import _signal  # type: ignore[import-not-found]
import _socket
import os
import select
import sys
import time

from omoi_os.worker.startup import handover, variables
from omoi_os.worker.startup.cold import Begun, hold_sigterm, home_of, report_start
from omoi_os.worker.startup.driver_start import Launched, launch

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import NoReturn

#: How long whoever hands a task over may take.
HANDOVER_SECONDS = 10.0
MAX_CALLERS = 16
CHUNK_BYTES = 64 * 1024
#: The answers to a handover, each followed by a line's end or a reason.
TAKEN = b"taken"
REFUSED = b"refused"
#: The answer to whoever hands nothing over, once the SDK is loaded.
READY = b"ready"

EXIT_FAILED = 1
EXIT_HAD_ITS_TASK = 2
EXIT_STOPPED = 128 + _signal.SIGTERM


class _Caller:
    """Somebody who connected: what came so far, and until when the rest must come."""

    __slots__ = ("connection", "deadline", "received")

    def __init__(self, connection: _socket.socket) -> None:
        self.connection = connection
        self.received = bytearray()
        self.deadline: float | None = time.monotonic() + HANDOVER_SECONDS


class Handover:
    """Listens for the task. The first one that makes a start is taken, and no other after it."""

    def __init__(self, folder: str, child: Launched) -> None:
        self._folder = folder
        self._child = child
        self._process = os.pidfd_open(child.pid)
        self._is_ready = False
        self._callers: dict[int, _Caller] = {}
        self._stopping, self._stop = os.pipe()
        os.set_blocking(self._stop, False)
        _signal.signal(_signal.SIGTERM, lambda *_: None)
        _signal.set_wakeup_fd(self._stop)
        self._poll = select.poll()
        self._listener = _listen(f"{folder}/{handover.SOCKET}")
        #: The variables that were taken, and the assignment among them.
        self.taken: tuple[dict[str, str], dict[str, object]] | None = None

    def wait(self) -> None:
        """Return once a task is taken, SIGTERM comes or the child ends."""
        for file in (self._stopping, self._process, self._child.channel, self._listener.fileno()):
            self._poll.register(file, select.POLLIN)
        while self.taken is None:
            woken = {file for file, _ in self._poll.poll(self._patience())}
            if self._stopping in woken or self._process in woken:
                return
            if self._child.channel in woken:
                self._hear_child()
            for file in woken & self._callers.keys():
                self._read(self._callers[file])
            if self._listener.fileno() in woken:
                self._accept()
            self._drop_late()

    @property
    def was_stopped(self) -> bool:
        """Whether SIGTERM came."""
        return bool(select.select([self._stopping], [], [], 0)[0])

    def close(self) -> None:
        """Leave no way in; whoever still waits finds the connection closed without an answer."""
        for name in (handover.SOCKET, handover.READY):
            _remove(f"{self._folder}/{name}")
        self._listener.close()
        for caller in list(self._callers.values()):
            self._hang_up(caller)
        _signal.set_wakeup_fd(-1)
        for file in (self._process, self._stop, self._stopping):
            os.close(file)

    def _patience(self) -> float | None:
        """Until the first caller is late, in milliseconds."""
        deadlines = [caller.deadline for caller in self._callers.values() if caller.deadline]
        return max(0.0, min(deadlines) - time.monotonic()) * 1000 if deadlines else None

    def _hear_child(self) -> None:
        """The child has one thing to say before there is a task: that the SDK is loaded."""
        self._poll.unregister(self._child.channel)
        if not os.read(self._child.channel, CHUNK_BYTES):
            return
        os.close(os.open(f"{self._folder}/{handover.READY}", os.O_CREAT | os.O_WRONLY, 0o600))
        self._is_ready = True
        for caller in list(self._callers.values()):
            if caller.deadline is None:
                self._hang_up(caller, answer=READY)

    def _accept(self) -> None:
        file, _ = self._listener._accept()  # type: ignore[attr-defined]
        connection = _socket.socket(fileno=file)
        connection.setblocking(False)
        if len(self._callers) >= MAX_CALLERS:
            connection.close()
            return
        self._callers[connection.fileno()] = _Caller(connection)
        self._poll.register(connection.fileno(), select.POLLIN)

    def _read(self, caller: _Caller) -> None:
        try:
            chunk = caller.connection.recv(CHUNK_BYTES)
        except BlockingIOError:
            return
        except OSError:
            self._hang_up(caller)
            return
        caller.received += chunk
        if len(caller.received) > handover.MAX_VARIABLES_BYTES:
            self._hang_up(caller, answer=REFUSED + b" the variables are too long")
        elif chunk:
            return
        elif caller.received:
            self._hang_up(caller, answer=self._take(bytes(caller.received)))
        elif self._is_ready:
            self._hang_up(caller, answer=READY)
        else:
            # Nothing more comes from there; the answer does, once the child is ready.
            caller.deadline = None
            self._poll.unregister(caller.connection.fileno())

    def _take(self, raw: bytes) -> bytes:
        if self.taken:
            return b""
        try:
            given = variables.parse(raw)
            assignment = variables.assignment(given)
        except variables.BadEnvironment as error:
            return REFUSED + b" " + str(error).encode(errors="replace")
        hold_sigterm()
        _write(f"{self._folder}/{handover.VARIABLES}", raw)
        _write(f"{self._folder}/{handover.TAKEN}", b"")
        self.taken = given, assignment
        return TAKEN

    def _drop_late(self) -> None:
        now = time.monotonic()
        for caller in list(self._callers.values()):
            if caller.deadline is not None and caller.deadline <= now:
                self._hang_up(caller)

    def _hang_up(self, caller: _Caller, *, answer: bytes = b"") -> None:
        del self._callers[caller.connection.fileno()]
        if caller.deadline is not None:
            self._poll.unregister(caller.connection.fileno())
        if answer:
            try:  # noqa: SIM105
                caller.connection.sendall(answer + b"\n")
            except OSError:
                pass
        caller.connection.close()


def _listen(path: str) -> _socket.socket:
    """Listen in the home, for its owner alone."""
    _remove(path)
    listener = _socket.socket(_socket.AF_UNIX, _socket.SOCK_STREAM)
    before = os.umask(0o177)
    try:
        listener.bind(path)
    finally:
        os.umask(before)
    listener.listen(MAX_CALLERS)
    return listener


def _remove(path: str) -> None:
    try:
        os.unlink(path)  # noqa: PTH108
    except FileNotFoundError:
        return


def _write(path: str, content: bytes) -> None:
    with open(path, "wb", opener=_private) as file:
        file.write(content)


def _private(path: str, flags: int) -> int:
    return os.open(path, flags, 0o600)


class Waiting:
    """The wait of this process, which knows only the places that its environment names."""

    def __init__(self) -> None:
        """Have the agent's SDK loaded, and listen."""
        home = home_of(dict(os.environ))
        folder = f"{home}/{handover.FOLDER}"
        os.makedirs(folder, mode=0o700, exist_ok=True)  # noqa: PTH103
        if os.access(f"{folder}/{handover.TAKEN}", os.F_OK):
            _say("A warm sandbox is used once, and this one had its task.")
            sys.exit(EXIT_HAD_ITS_TASK)
        _write(f"{folder}/{handover.PID}", str(os.getpid()).encode())
        self._child = launch(home)
        self._handover = Handover(folder, self._child)

    def wait(self) -> Begun:
        """Wait for a task, and report its start."""
        try:
            self._handover.wait()
            was_stopped = self._handover.was_stopped
        finally:
            self._handover.close()
        if self._handover.taken is None or was_stopped:
            _give_up(self._child, was_stopped=was_stopped)
        given, assignment = self._handover.taken
        begun = Begun(given, self._child)
        report_start(begun, assignment)
        return begun


def _give_up(child: Launched, *, was_stopped: bool) -> NoReturn:
    os.kill(child.pid, _signal.SIGKILL)
    os.waitpid(child.pid, 0)
    if was_stopped:
        sys.exit(EXIT_STOPPED)
    said = os.read(child.stderr, CHUNK_BYTES).decode(errors="replace").strip()
    _say(f"The agent's child ended while it waited: {said[-1000:]}")
    sys.exit(EXIT_FAILED)


def _say(line: str) -> None:
    print(line, file=sys.stderr, flush=True)  # noqa: T201
