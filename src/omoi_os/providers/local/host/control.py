"""Asking a sandbox's supervisor to run a command or to stop."""

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
from omoi_os.providers.local.supervisor import control_socket as commands
from omoi_os.providers.local.supervisor import documents
from omoi_os.providers.local.supervisor.tail import Tail

#: How much of each output is kept, from its beginning and from its end.
OUTPUT_BYTES = 4 * 1024 * 1024

#: How much later than promised a supervisor may answer before it counts as hung.
GRACE_SECONDS = 20.0

#: A supervisor that takes longer to tell its sandbox's use is not waited for.
USAGE_SECONDS = 2.0

_CHUNK = 65536
#: What can still be in a pipe, in chunks, once every process that belongs to it is dead.
_LAST_CHUNKS = 32


class NotHeldError(Exception):
    """No supervisor listens for this sandbox."""


def stop(folder: Path) -> None:
    """Tell the supervisor to end the sandbox; one that no longer listens has nothing to end."""
    with contextlib.suppress(NotHeldError), _connected(folder) as connection:
        _send(connection, b"stop")


@contextlib.contextmanager
def waiting(folder: Path) -> Iterator[int]:
    """A descriptor that becomes readable when the sandbox ends, or its supervisor. Raises `NotHeldError`."""
    with _connected(folder) as connection:
        _send(connection, b"wait")
        yield connection.fileno()


def usage(folder: Path) -> tuple[int | None, float | None, int | None, int | None]:
    """Memory, processor time, processes and disk in use now, each None where it cannot be told."""
    try:
        answer, _ = _ask(folder, b"usage", seconds=USAGE_SECONDS)
        memory, seconds, pids, disk = (None if word == "-" else float(word) for word in answer.split())
    except (NotHeldError, OSError, ValueError):
        return None, None, None, None
    return _whole(memory), seconds, _whole(pids), _whole(disk)


def open_folder(folder: Path, name: str) -> int:
    """A descriptor of the home or the workspace. Raises `NotHeldError`."""
    try:
        answer, fds = _ask(folder, name.encode(), seconds=GRACE_SECONDS)
    except OSError as error:
        raise ProviderUnavailable(f"The supervisor of sandbox {folder.name} does not answer: {error}.") from error
    if not fds:
        raise ProviderError(f"The files of sandbox {folder.name} cannot be reached: {answer or 'no answer'}.")
    return fds[0]


async def run(folder: Path, argv: Sequence[str], *, stdin: bytes, cwd: str | None, timeout: timedelta) -> ExecResult:
    """Run a command beside the sandbox's first process or after it, to its end. Raises `NotHeldError`."""
    seconds = timeout.total_seconds()
    request = _request(argv, cwd=cwd or paths.WORKSPACE, seconds=seconds)
    with contextlib.ExitStack() as stack:
        connection = stack.enter_context(_connected(folder))
        outputs = [_Output(stack), _Output(stack)]
        given = [_sealed(request), _sealed(stdin)]
        try:
            # One packet with all descriptors: the supervisor never waits for a slow caller.
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
    if not argv or len(request) > commands.MAX_REQUEST_BYTES:
        raise ProviderError(f"A command must have at least one word and at most {commands.MAX_REQUEST_BYTES} bytes.")
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
        raise TimeoutError(f"{argv[0]} ran longer than {seconds:g} s and was killed with all that it had started.")
    if word == "refused":
        code, _, message = rest.partition(" ")
        return ExecResult(int(code), b"", f"{message}\n".encode())
    stdout, stderr = (output.kept.kept() for output in outputs)
    return ExecResult(int(rest), stdout, stderr, any(output.kept.truncated for output in outputs))


class _Output:
    """One of a command's outputs, read as it comes so that the command never waits for us."""

    def __init__(self, stack: contextlib.ExitStack) -> None:
        self.read_end, self.write_end = os.pipe()
        stack.callback(os.close, self.read_end)
        os.set_blocking(self.read_end, False)
        self.kept = Tail(OUTPUT_BYTES)

    def start(self, loop: asyncio.AbstractEventLoop) -> None:
        loop.add_reader(self.read_end, self._take, loop)

    def finish(self, loop: asyncio.AbstractEventLoop) -> None:
        """Take what is still in the pipe. Not to its end: a process elsewhere may hold it open for ever."""
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
    """A connection to the supervisor, by way of a descriptor: a socket's path must be short."""
    try:
        fd = os.open(folder, os.O_RDONLY | os.O_DIRECTORY | os.O_CLOEXEC)
    except OSError as error:
        raise NotHeldError(str(error)) from error
    try:
        with socket.socket(socket.AF_UNIX, socket.SOCK_SEQPACKET) as connection:
            connection.setblocking(False)
            try:
                connection.connect(f"/proc/self/fd/{fd}/control")
            except OSError as error:
                raise NotHeldError(str(error)) from error
            yield connection
    finally:
        os.close(fd)


def _send(connection: socket.socket, word: bytes, fds: Sequence[int] = ()) -> None:
    try:
        socket.send_fds(connection, [word], fds)
    except OSError as error:
        raise NotHeldError(str(error)) from error


def _sealed(content: bytes) -> int:
    """A descriptor to read the content from, which nobody can change or let grow."""
    fd = os.memfd_create("omoi", os.MFD_CLOEXEC | os.MFD_ALLOW_SEALING)
    with open(fd, "wb", closefd=False) as file:
        file.write(content)
    os.lseek(fd, 0, os.SEEK_SET)
    fcntl.fcntl(fd, fcntl.F_ADD_SEALS, fcntl.F_SEAL_WRITE | fcntl.F_SEAL_GROW | fcntl.F_SEAL_SHRINK)
    return fd
