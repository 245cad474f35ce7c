"""Starting a program with nothing but what it is given."""

# No pathlib here: its import would be a good part of every command's start.
# ruff: noqa: PTH208

from __future__ import annotations

import os
import resource
import select
from collections.abc import Callable, Iterable

from omoi_os.providers.guest import kernel

#: How long a process may take from its start to its program. What runs beside it could delay it on purpose.
START_SECONDS = 5.0

#: How many files one process in a sandbox may have open.
MAX_OPEN_FILES = 16_384


class LaunchError(Exception):
    """The program could not be started. `code` is that of a shell: 127 if it or its folder was not found, else 126."""

    def __init__(self, message: str, *, code: int = 126) -> None:
        super().__init__(message)
        self.code = code


class Program:
    """A program to start, with its arguments, environment, folder and standard streams."""

    def __init__(
        self, argv: list[str], *, env: dict[str, str], cwd: str, stdio: list[int], seccomp: bytes | None
    ) -> None:
        self.argv = argv
        self.env = env
        self.cwd = cwd
        self.stdio = stdio
        #: The filter of kernel calls to install, or None for none.
        self.seccomp = seccomp


def start(program: Program, *, prepare: Callable[[], None] | None = None) -> int:
    """Return the pid of the program once it runs. Raises `LaunchError`.

    `prepare` is called in the new process and may raise `OSError`.
    """
    reading, writing = os.pipe()
    try:
        pid = os.fork()
    except OSError as error:
        os.close(reading)
        os.close(writing)
        raise LaunchError(f"{program.argv[0]}: {error.strerror}") from None
    if pid == 0:
        try:
            _become(program, prepare, writing)
        finally:
            # Whatever happens, the child must not continue as a second guest.
            os._exit(126)
    os.close(writing)
    failure = _read_failure(reading)
    if failure:
        os.kill(pid, kernel.SIGKILL)
        os.waitpid(pid, 0)
        raise parse_failure(failure)
    return pid


def execute(program: Program) -> None:
    """Turn this process into the program. Raises `OSError` or `ValueError` if that fails, and never returns."""
    copies = [os.dup(fd) for fd in program.stdio]
    for number, fd in enumerate(copies):
        os.dup2(fd, number)
    kernel.reset_signals()
    os.chdir(program.cwd)
    if program.seccomp is not None:
        kernel.install_filter(program.seccomp)
    os.execvpe(program.argv[0], program.argv, program.env)  # noqa: S606


def describe_failure(error: Exception, program: Program) -> bytes:
    """Encode why `execute` failed, for `parse_failure` in another process."""
    code = 127 if isinstance(error, FileNotFoundError) else 126
    reason = getattr(error, "strerror", None) or str(error)
    text = f"{code} {program.argv[0]} in {program.cwd}: {reason}"
    return text.encode(errors="replace")[:2000]


def parse_failure(text: str) -> LaunchError:
    """Decode what `describe_failure` encoded."""
    code, _, message = text.partition(" ")
    return LaunchError(message, code=int(code))


def set_limits(limits: Iterable[tuple[int, int]]) -> None:
    """Set resource limits of this process, none above its hard limit."""
    for kind, value in limits:
        hard = resource.getrlimit(kind)[1]
        value = value if hard == resource.RLIM_INFINITY else min(value, hard)
        resource.setrlimit(kind, (value, value))


def _become(program: Program, prepare: Callable[[], None] | None, writing: int) -> None:
    """Turn into the program, or write why that failed. Never returns."""
    try:
        os.setsid()
        os.umask(0o022)
        _close_all_but({*program.stdio, 0, 1, 2, writing})
        if prepare is not None:
            prepare()
        execute(program)
    except (OSError, ValueError) as error:
        os.write(writing, describe_failure(error, program))
    os._exit(126)


def _close_all_but(kept: set[int]) -> None:
    """Close what was inherited. The descriptors are listed: counting up to the limit may take minutes."""
    for name in os.listdir("/proc/self/fd"):
        if int(name) not in kept:
            try:
                os.close(int(name))
            except OSError:
                continue


def _read_failure(reading: int) -> str:
    """Return why the program does not run; nothing if it does."""
    poll = select.poll()
    poll.register(reading, select.POLLIN)
    ready = poll.poll(START_SECONDS * 1000)
    text = os.read(reading, 4096).decode(errors="replace") if ready else "126 it was delayed before its program started"
    os.close(reading)
    return text
