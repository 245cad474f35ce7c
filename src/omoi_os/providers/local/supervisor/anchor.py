"""Starting bwrap around a process that does nothing but hold the sandbox open for others to join."""

# No contextlib here: it would slow the supervisor's start.
# ruff: noqa: SIM105

import os
import select
from collections.abc import Callable

from omoi_os.providers.local.supervisor import kernel

#: Reads what it is given and gives it back, which tells that the sandbox is complete; it ends when the
#: supervisor, which holds the other end of its input, does.
HOLDER = "/bin/cat"

START_SECONDS = 10.0


class HolderError(Exception):
    """bwrap did not make the sandbox; the message is its own."""


def hold(arguments: list[str], *, program: bytes, prepare: Callable[[], None]) -> tuple[int, int, int]:
    """Start bwrap and wait until the sandbox is complete; its pid, that of the sandbox's first process, and a
    descriptor whose closing ends both, as the end of this process does.

    `arguments` is bwrap's path and its options. They go through a descriptor: a command line can be read inside.
    `prepare` is called in the process that becomes bwrap, and may fail with an `OSError`.
    """
    options = _in_memory("\0".join(arguments[1:]).encode("utf-8", "surrogateescape"))
    rules = _in_memory(program)
    gate, key = os.pipe()
    echo, voice = os.pipe()
    info, facts = os.pipe()
    pid = os.fork()
    if pid == 0:
        try:
            _prepare(voice, prepare)
            _become_bwrap(arguments[0], options=options, rules=rules, facts=facts, stdin=gate)
        finally:
            os._exit(126)
    for fd in (options, rules, gate, voice, facts):
        os.close(fd)
    try:
        os.write(key, b"\n")
    except BrokenPipeError:
        # It says why below.
        pass
    said = _listen(echo)
    told = os.read(info, 4096) if said == b"\n" else b""
    os.close(info)
    os.close(echo)
    if said != b"\n":
        os.close(key)
        os.kill(pid, kernel.SIGKILL)
        os.waitpid(pid, 0)
        raise HolderError(said.decode(errors="replace").strip() or "bwrap ended without a word")
    return pid, _child_pid(told), key


def _prepare(voice: int, prepare: Callable[[], None]) -> None:
    """Do what the caller wants done, saying aloud what goes wrong."""
    os.dup2(voice, 1)
    os.dup2(voice, 2)
    kernel.die_with_parent()
    try:
        prepare()
    except OSError as error:
        os.write(1, str(error).encode())
        os._exit(126)


def _become_bwrap(path: str, *, options: int, rules: int, facts: int, stdin: int) -> None:
    """Never returns."""
    os.dup2(stdin, 0)
    for fd in (options, rules, facts):
        os.set_inheritable(fd, True)
    kernel.reset_signals()
    descriptors = ["--args", str(options), "--seccomp", str(rules), "--info-fd", str(facts)]
    try:
        # An empty environment: bwrap's own can be read inside, whatever it clears for the program.
        os.execve(path, ["bwrap", *descriptors, "--", HOLDER], {})  # noqa: S606
    except OSError as error:
        os.write(1, f"{path}: {error}".encode())


def _listen(echo: int) -> bytes:
    """The echo of one line, or everything that was said instead."""
    poll = select.poll()
    poll.register(echo, select.POLLIN)
    said = b""
    while said != b"\n" and len(said) < 65536:
        if not poll.poll(START_SECONDS * 1000):
            return b"bwrap did not finish in time"
        chunk = os.read(echo, 4096)
        if not chunk:
            return said
        said += chunk
    return said


def _child_pid(told: bytes) -> int:
    """The pid in bwrap's small report, without the time that importing a parser takes."""
    _, found, rest = told.partition(b'"child-pid":')
    digits = rest.split(b",")[0].split(b"}")[0].strip()
    if not found or not digits.isdigit():
        raise HolderError(f"bwrap gave no pid: {told!r}")
    return int(digits)


def _in_memory(content: bytes) -> int:
    fd = os.memfd_create("omoi")
    os.write(fd, content)
    os.lseek(fd, 0, os.SEEK_SET)
    return fd
