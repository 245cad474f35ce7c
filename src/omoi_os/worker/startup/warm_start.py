"""The first stage of a warm start: load the agent driver, and wait for a task.

The wait can last for half an hour, so this module imports next to nothing. Exit codes: those of `main`; also 1 if the
agent driver dies before there is a task, and 2 if this sandbox already had one.
"""

from __future__ import annotations

import _signal  # type: ignore[import-not-found]
import _socket
import os
import select
import sys
import time

from omoi_os.worker.startup import handover, variables
from omoi_os.worker.startup.cold_start import EarlyStart, hold_sigterm, home_of, report_start
from omoi_os.worker.startup.driver_start import LaunchedDriver, launch

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import NoReturn

#: How long a handover may take.
HANDOVER_SECONDS = 10.0
MAX_CALLERS = 16
CHUNK_BYTES = 64 * 1024
#: The answers to a handover; a reason or the end of the line follows.
TAKEN = b"taken"
REFUSED = b"refused"
#: The answer to an empty handover, once the agent driver has loaded.
READY = b"ready"

EXIT_FAILED = 1
EXIT_ALREADY_USED = 2
EXIT_STOPPED = 128 + _signal.SIGTERM


class _Caller:
    """One handover: what has arrived so far, and the time by which the rest must arrive."""

    __slots__ = ("connection", "deadline", "received")

    def __init__(self, connection: _socket.socket) -> None:
        self.connection = connection
        self.received = bytearray()
        self.deadline: float | None = time.monotonic() + HANDOVER_SECONDS


class HandoverListener:
    """Listens for a task. Accepts the first valid one, and none after it."""

    def __init__(self, folder: str, driver: LaunchedDriver) -> None:
        self._folder = folder
        self._driver = driver
        self._process = os.pidfd_open(driver.pid)
        self._is_ready = False
        self._callers: dict[int, _Caller] = {}
        self._stopping, self._stop = os.pipe()
        os.set_blocking(self._stop, False)
        _signal.signal(_signal.SIGTERM, lambda *_: None)
        _signal.set_wakeup_fd(self._stop)
        self._poll = select.poll()
        self._listener = _listen(f"{folder}/{handover.SOCKET}")
        #: The variables that were accepted, and the assignment in them.
        self.taken: tuple[dict[str, str], dict[str, object]] | None = None

    def wait(self) -> None:
        """Return once a task is accepted, SIGTERM arrives or the driver exits."""
        for file in (self._stopping, self._process, self._driver.channel, self._listener.fileno()):
            self._poll.register(file, select.POLLIN)
        while self.taken is None:
            woken = {file for file, _ in self._poll.poll(self._poll_timeout())}
            if self._stopping in woken or self._process in woken:
                return
            if self._driver.channel in woken:
                self._note_ready()
            for file in woken & self._callers.keys():
                self._read(self._callers[file])
            if self._listener.fileno() in woken:
                self._accept()
            self._drop_late()

    @property
    def is_stopped(self) -> bool:
        """Whether SIGTERM arrived."""
        return bool(select.select([self._stopping], [], [], 0)[0])

    def close(self) -> None:
        """Stop listening. Handovers that still wait find their connection closed without an answer."""
        for name in (handover.SOCKET, handover.READY):
            _remove(f"{self._folder}/{name}")
        self._listener.close()
        for caller in list(self._callers.values()):
            self._hang_up(caller)
        _signal.set_wakeup_fd(-1)
        for file in (self._process, self._stop, self._stopping):
            os.close(file)

    def _poll_timeout(self) -> float | None:
        """Return the milliseconds until the first handover is late."""
        deadlines = [caller.deadline for caller in self._callers.values() if caller.deadline]
        return max(0.0, min(deadlines) - time.monotonic()) * 1000 if deadlines else None

    def _note_ready(self) -> None:
        """Note that the driver has loaded. `Ready` is the only report it sends before there is a task."""
        self._poll.unregister(self._driver.channel)
        if not os.read(self._driver.channel, CHUNK_BYTES):
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
            # An empty handover is complete; it is answered once the driver is ready.
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
    """Listen on a socket that only its owner can reach."""
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


class WarmStart:
    """The wait of this process. Its environment names its paths, and nothing about a task."""

    def __init__(self) -> None:
        """Launch the agent driver, and listen for a task."""
        home = home_of(dict(os.environ))
        folder = f"{home}/{handover.FOLDER}"
        os.makedirs(folder, mode=0o700, exist_ok=True)  # noqa: PTH103
        if os.access(f"{folder}/{handover.TAKEN}", os.F_OK):
            _print_error("A warm sandbox is used once, and this one has had its task.")
            sys.exit(EXIT_ALREADY_USED)
        _write(f"{folder}/{handover.PID}", str(os.getpid()).encode())
        self._driver = launch(home)
        self._listener = HandoverListener(folder, self._driver)

    def wait(self) -> EarlyStart:
        """Wait for a task, and report its start. Exits if there will be none."""
        try:
            self._listener.wait()
            is_stopped = self._listener.is_stopped
        finally:
            self._listener.close()
        if self._listener.taken is None or is_stopped:
            _give_up(self._driver, is_stopped=is_stopped)
        given, assignment = self._listener.taken
        early = EarlyStart(given, self._driver)
        report_start(early, assignment)
        return early


def _give_up(driver: LaunchedDriver, *, is_stopped: bool) -> NoReturn:
    os.kill(driver.pid, _signal.SIGKILL)
    os.waitpid(driver.pid, 0)
    if is_stopped:
        sys.exit(EXIT_STOPPED)
    stderr = os.read(driver.stderr, CHUNK_BYTES).decode(errors="replace").strip()
    _print_error(f"The agent driver exited while it waited for a task: {stderr[-1000:]}")
    sys.exit(EXIT_FAILED)


def _print_error(line: str) -> None:
    print(line, file=sys.stderr, flush=True)  # noqa: T201
