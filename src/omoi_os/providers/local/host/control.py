"""Requests to a sandbox's supervisor: run a command, report, stop."""

import asyncio
import contextlib
import fcntl
import os
import socket
from collections.abc import Iterator, Sequence
from datetime import timedelta
from pathlib import Path

from omoi_os.errors import ProviderError, ProviderUnavailable
from omoi_os.protocol import paths
from omoi_os.providers.base import ExecResult
from omoi_os.providers.guest.tail import Tail
from omoi_os.providers.local.supervisor import control_socket, documents

#: How much of each output is kept, from its beginning and from its end.
OUTPUT_BYTES = 4 * 1024 * 1024

#: How much later than requested a supervisor may answer before it counts as hung.
GRACE_SECONDS = 20.0

#: How long to wait for a supervisor to report the use of its sandbox.
USAGE_SECONDS = 2.0

_CHUNK = 65536
#: The most chunks that can still be in a pipe once every process that writes to it is dead.
_LAST_CHUNKS = 32


class NoSupervisorError(Exception):
    """This sandbox has no supervisor that listens."""


def stop(folder: Path) -> None:
    """Request the supervisor to end the sandbox. Without a supervisor there is nothing to end."""
    with contextlib.suppress(NoSupervisorError), _connected(folder) as connection:
        _send(connection, b"stop")


@contextlib.contextmanager
def waiting(folder: Path) -> Iterator[int]:
    """Yield a descriptor that becomes readable when the sandbox or its supervisor ends. Raises `NoSupervisorError`."""
    with _connected(folder) as connection:
        _send(connection, b"wait")
        yield connection.fileno()


def usage(folder: Path) -> tuple[int | None, float | None, int | None, int | None]:
    """Return the memory, processor time, processes and disk in use, each None if it is unknown."""
    try:
        answer, _ = _ask(folder, b"usage", seconds=USAGE_SECONDS)
        memory, seconds, pids, disk = (None if word == "-" else float(word) for word in answer.split())
    except (NoSupervisorError, OSError, ValueError):
        return None, None, None, None
    return _whole(memory), seconds, _whole(pids), _whole(disk)


def open_folder(folder: Path, name: str) -> int:
    """Return a descriptor of the home or the workspace. Raises `NoSupervisorError`."""
    try:
        answer, fds = _ask(folder, name.encode(), seconds=GRACE_SECONDS)
    except OSError as error:
        raise ProviderUnavailable(f"The supervisor of sandbox {folder.name} does not answer: {error}.") from error
    if not fds:
        raise ProviderError(f"The files of sandbox {folder.name} cannot be reached: {answer or 'no answer'}.")
    return fds[0]


async def run(folder: Path, argv: Sequence[str], *, stdin: bytes, cwd: str | None, timeout: timedelta) -> ExecResult:
    """Run a command to its end, beside the sandbox's first process or after it. Raises `NoSupervisorError`."""
    seconds = timeout.total_seconds()
    request = _request(argv, cwd=cwd or paths.WORKSPACE, seconds=seconds)
    with contextlib.ExitStack() as stack:
        connection = stack.enter_context(_connected(folder))
        outputs = [_Output(stack), _Output(stack)]
        given = [_sealed(request), _sealed(stdin)]
        try:
            # Everything is in one packet, so the supervisor never waits for a slow caller.
            _send(connection, b"exec", [*given, *(output.write_end for output in outputs)])
        finally:
            for fd in (*given, *(output.write_end for output in outputs)):
                os.close(fd)
        answer = await _answer(connection, outputs, seconds=seconds, name=folder.name)
        return _result(answer, outputs, argv=argv, seconds=seconds)


def _ask(folder: Path, question: bytes, *, seconds: float) -> tuple[str, list[int]]:
    with _connected(folder) as connection:
        connection.settimeout(seconds)
        _send(connection, question)
        answer, fds, _, _ = socket.recv_fds(connection, 4096, 1)
    return answer.decode(errors="replace"), fds


def _whole(number: float | None) -> int | None:
    return None if number is None else int(number)


def _request(argv: Sequence[str], *, cwd: str, seconds: float) -> bytes:
    try:
        request = documents.pack({"argv": list(argv), "cwd": [cwd], "timeout": [str(seconds)]})
    except ValueError as error:
        raise ProviderError(f"The command cannot be run: {error}.") from None
    if not argv or len(request) > control_socket.MAX_REQUEST_BYTES:
        raise ProviderError(
            f"A command must have at least one word and at most {control_socket.MAX_REQUEST_BYTES} bytes."
        )
    return request


async def _answer(connection: socket.socket, outputs: "list[_Output]", *, seconds: float, name: str) -> str:
    loop = asyncio.get_running_loop()
    for output in outputs:
        output.start(loop)
    try:
        async with asyncio.timeout(seconds + GRACE_SECONDS):
            answer = (await loop.sock_recv(connection, 4096)).decode(errors="replace")
    except TimeoutError:
        raise ProviderUnavailable(f"The supervisor of sandbox {name} does not answer.") from None
    except ConnectionError:
        answer = ""
    finally:
        for output in outputs:
            output.finish(loop)
    if not answer:
        raise ProviderError(f"Sandbox {name} ended while the command ran.")
    return answer


def _result(answer: str, outputs: "list[_Output]", *, argv: Sequence[str], seconds: float) -> ExecResult:
    word, _, rest = answer.partition(" ")
    if word == "timeout":
        raise TimeoutError(f"{argv[0]} ran longer than {seconds:g} s and was killed with all its processes.")
    if word == "refused":
        code, _, message = rest.partition(" ")
        return ExecResult(int(code), b"", f"{message}\n".encode())
    stdout, stderr = (output.kept.kept() for output in outputs)
    return ExecResult(int(rest), stdout, stderr, any(output.kept.truncated for output in outputs))


class _Output:
    """One output of a command, read as it is written so that the command never has to wait."""

    def __init__(self, stack: contextlib.ExitStack) -> None:
        self.read_end, self.write_end = os.pipe()
        stack.callback(os.close, self.read_end)
        os.set_blocking(self.read_end, False)
        self.kept = Tail(OUTPUT_BYTES)

    def start(self, loop: asyncio.AbstractEventLoop) -> None:
        loop.add_reader(self.read_end, self._take, loop)

    def finish(self, loop: asyncio.AbstractEventLoop) -> None:
        """Read what is still in the pipe. Not up to its end: a process elsewhere may hold it open forever."""
        if loop.remove_reader(self.read_end):
            for _ in range(_LAST_CHUNKS):
                if not self._take(loop):
                    return

    def _take(self, loop: asyncio.AbstractEventLoop) -> bool:
        try:
            chunk = os.read(self.read_end, _CHUNK)
        except BlockingIOError:
            return False
        self.kept.add(chunk)
        if not chunk:
            loop.remove_reader(self.read_end)
        return bool(chunk)


@contextlib.contextmanager
def _connected(folder: Path) -> Iterator[socket.socket]:
    """Connect to the supervisor through a descriptor of the folder, because the path of a socket must be short."""
    try:
        fd = os.open(folder, os.O_RDONLY | os.O_DIRECTORY | os.O_CLOEXEC)
    except OSError as error:
        raise NoSupervisorError(str(error)) from error
    try:
        with socket.socket(socket.AF_UNIX, socket.SOCK_SEQPACKET) as connection:
            connection.setblocking(False)
            try:
                connection.connect(f"/proc/self/fd/{fd}/control")
            except OSError as error:
                raise NoSupervisorError(str(error)) from error
            yield connection
    finally:
        os.close(fd)


def _send(connection: socket.socket, word: bytes, fds: Sequence[int] = ()) -> None:
    try:
        socket.send_fds(connection, [word], fds)
    except OSError as error:
        raise NoSupervisorError(str(error)) from error


def _sealed(content: bytes) -> int:
    """Return a descriptor to read the content from, which can be neither changed nor extended."""
    fd = os.memfd_create("omoi", os.MFD_CLOEXEC | os.MFD_ALLOW_SEALING)
    with open(fd, "wb", closefd=False) as file:
        file.write(content)
    os.lseek(fd, 0, os.SEEK_SET)
    fcntl.fcntl(fd, fcntl.F_ADD_SEALS, fcntl.F_SEAL_WRITE | fcntl.F_SEAL_GROW | fcntl.F_SEAL_SHRINK)
    return fd
