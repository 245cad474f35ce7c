"""Starting bwrap around a process that only keeps the sandbox's namespaces open, so that others can join them."""

# No contextlib here: it would slow the supervisor's start.
# ruff: noqa: SIM105

import os
import select
from collections.abc import Callable

from omoi_os.providers.guest import kernel

#: Returns its input, which shows that the sandbox is complete, and ends when the supervisor closes that input or ends.
ANCHOR = "/bin/cat"

START_SECONDS = 10.0


class AnchorError(Exception):
    """bwrap did not create the sandbox; the message is that of bwrap."""


def start(arguments: list[str], *, program: bytes, prepare: Callable[[], None]) -> tuple[int, int, int]:
    """Start bwrap and wait until the sandbox is complete.

    Return its pid, the pid of the sandbox's first process, and a descriptor. Closing the descriptor ends both, and so
    does the end of this process. `arguments` is bwrap's path and its options; they are passed through a descriptor
    because a command line can be read inside. `prepare` is called in the process that becomes bwrap, and may raise
    `OSError`. Raises `AnchorError`.
    """
    options = _in_memory("\0".join(arguments[1:]).encode("utf-8", "surrogateescape"))
    rules = _in_memory(program)
    read_input, key = os.pipe()
    echo, output = os.pipe()
    info, facts = os.pipe()
    pid = os.fork()
    if pid == 0:
        try:
            _prepare(output, prepare)
            _become_bwrap(arguments[0], options=options, rules=rules, facts=facts, stdin=read_input)
        finally:
            os._exit(126)
    for fd in (options, rules, read_input, output, facts):
        os.close(fd)
    try:
        os.write(key, b"\n")
    except BrokenPipeError:
        # The output explains it, see below.
        pass
    printed = _read_echo(echo)
    report = os.read(info, 4096) if printed == b"\n" else b""
    os.close(info)
    os.close(echo)
    if printed != b"\n":
        os.close(key)
        os.kill(pid, kernel.SIGKILL)
        os.waitpid(pid, 0)
        raise AnchorError(printed.decode(errors="replace").strip() or "bwrap ended without a message")
    return pid, _child_pid(report), key


def _prepare(output: int, prepare: Callable[[], None]) -> None:
    """Call `prepare` in the new process, and write to the pipe what goes wrong."""
    os.dup2(output, 1)
    os.dup2(output, 2)
    kernel.die_with_parent()
    try:
        prepare()
    except OSError as error:
        os.write(1, str(error).encode())
        os._exit(126)


def _become_bwrap(path: str, *, options: int, rules: int, facts: int, stdin: int) -> None:
    """Turn into bwrap. Never returns."""
    os.dup2(stdin, 0)
    for fd in (options, rules, facts):
        os.set_inheritable(fd, True)
    kernel.reset_signals()
    descriptors = ["--args", str(options), "--seccomp", str(rules), "--info-fd", str(facts)]
    try:
        # An empty environment: that of bwrap can be read inside, whatever it clears for the program.
        os.execve(path, ["bwrap", *descriptors, "--", ANCHOR], {})  # noqa: S606
    except OSError as error:
        os.write(1, f"{path}: {error}".encode())


def _read_echo(echo: int) -> bytes:
    """Return the echo of one line, or everything that was printed instead."""
    poll = select.poll()
    poll.register(echo, select.POLLIN)
    printed = b""
    while printed != b"\n" and len(printed) < 65536:
        if not poll.poll(START_SECONDS * 1000):
            return b"bwrap did not finish in time"
        chunk = os.read(echo, 4096)
        if not chunk:
            return printed
        printed += chunk
    return printed


def _child_pid(report: bytes) -> int:
    """Return the pid in bwrap's report, without a parser, whose import would take longer."""
    _, found, rest = report.partition(b'"child-pid":')
    digits = rest.split(b",")[0].split(b"}")[0].strip()
    if not found or not digits.isdigit():
        raise AnchorError(f"bwrap reported no pid: {report!r}")
    return int(digits)


def _in_memory(content: bytes) -> int:
    fd = os.memfd_create("omoi")
    os.write(fd, content)
    os.lseek(fd, 0, os.SEEK_SET)
    return fd
