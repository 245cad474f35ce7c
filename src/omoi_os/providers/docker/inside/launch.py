"""Starting a program inside the container, with nothing but what it was given."""

# No pathlib here: its import would be a good part of every command's start.
# ruff: noqa: PTH123

import os
import resource
import select

from omoi_os.providers.docker.inside import processes
from omoi_os.providers.local.supervisor import kernel
from omoi_os.providers.local.supervisor.spawn import MAX_OPEN_FILES

#: How long a process may take from its start to its program. What runs beside it could hold it up on purpose.
START_SECONDS = 5.0

#: Whatever the sandbox starts is killed for memory before what holds it.
_FIRST_TO_GO = b"500"


class LaunchError(Exception):
    """The program could not be started. `code` is what a shell would answer: 127 not found, else 126."""

    def __init__(self, message: str, *, code: int) -> None:
        super().__init__(message)
        self.code = code


class Program:
    """What to start."""

    def __init__(self, request: dict[str, object], stdio: list[int]) -> None:
        self.argv: list[str] = [str(word) for word in _items(request["argv"])]
        self.env: dict[str, str] = dict(request["env"])  # type: ignore[call-overload]
        self.cwd = str(request["cwd"])
        #: The filter of kernel calls, on top of the engine's own.
        self.filter = bytes.fromhex(str(request["filter"]))
        self.stdio = stdio


def start(program: Program) -> int:
    """The pid of the program, once it runs. Raises `LaunchError`."""
    told, tell = os.pipe()
    try:
        pid = os.fork()
    except OSError as error:
        os.close(told)
        os.close(tell)
        raise LaunchError(f"{program.argv[0]}: {error.strerror}", code=126) from None
    if pid == 0:
        try:
            _become(program, tell)
        finally:
            # Whatever happens, no second holder goes on from here.
            os._exit(126)
    os.close(tell)
    said = _hear(told)
    if said:
        os.kill(pid, kernel.SIGKILL)
        os.waitpid(pid, 0)
        code, _, message = said.partition(" ")
        raise LaunchError(message, code=int(code))
    return pid


def _hear(told: int) -> str:
    """Why the program does not run, or nothing."""
    poll = select.poll()
    poll.register(told, select.POLLIN)
    ready = poll.poll(START_SECONDS * 1000)
    said = os.read(told, 4096).decode(errors="replace") if ready else "126 it was held up before its program started"
    os.close(told)
    return said


def _become(program: Program, tell: int) -> None:
    """Turn into the program. Never returns."""
    code, reason = 126, ""
    try:
        os.setsid()
        os.umask(0o022)
        stdio = [os.dup(fd) for fd in program.stdio]
        for number, fd in enumerate(stdio):
            os.dup2(fd, number)
        os.closerange(3, tell)
        os.closerange(tell + 1, os.sysconf("SC_OPEN_MAX"))
        _limit()
        kernel.reset_signals()
        os.chdir(program.cwd)
        kernel.install_filter(program.filter)
        os.execvpe(program.argv[0], program.argv, program.env)  # noqa: S606
    except FileNotFoundError as error:
        code, reason = 127, error.strerror or ""
    except (OSError, ValueError) as error:
        reason = getattr(error, "strerror", None) or str(error)
    os.write(tell, f"{code} {program.argv[0]} in {program.cwd}: {reason}".encode(errors="replace")[:2000])
    os._exit(code)


def _limit() -> None:
    for kind, value in ((resource.RLIMIT_CORE, 0), (resource.RLIMIT_NOFILE, MAX_OPEN_FILES)):
        hard = resource.getrlimit(kind)[1]
        value = value if hard == resource.RLIM_INFINITY else min(value, hard)
        resource.setrlimit(kind, (value, value))
    # Hidden as its starter is, a process may not write even this about itself. All that could be seen is closed.
    processes.show_memory()
    with open("/proc/self/oom_score_adj", "wb", buffering=0) as file:
        file.write(_FIRST_TO_GO)


def _items(value: object) -> list[object]:
    return value if isinstance(value, list) else []
