"""Starting bwrap around a process that does nothing but hold the sandbox open for others to join."""

import os
import select

from omoi_os.providers.local import kernel

#: Reads what it is given and gives it back, which tells that the sandbox is complete; it ends when the
#: supervisor, which holds the other end of its input, does.
HOLDER = "/bin/cat"

START_SECONDS = 10.0


class HolderError(Exception):
    """bwrap did not make the sandbox; the message is its own."""


def hold(arguments: list[str], *, program: bytes, doors: list[int]) -> tuple[int, int]:
    """Start bwrap and wait until the sandbox is complete; its pid and that of the sandbox's first process.

    `arguments` is bwrap's path and its options. They go through a descriptor: a command line can be read inside.
    The holder's input stays open, unnamed, for as long as this process lives.
    """
    options = _in_memory("\0".join(arguments[1:]).encode("utf-8", "surrogateescape"))
    rules = _in_memory(program)
    gate, key = os.pipe()
    echo, voice = os.pipe()
    info, facts = os.pipe()
    pid = os.fork()
    if pid == 0:
        _become_bwrap(arguments[0], doors=doors, options=options, rules=rules, facts=facts, stdio=(gate, voice))
    for fd in (options, rules, gate, voice, facts):
        os.close(fd)
    os.write(key, b"\n")
    said = _listen(echo)
    told = os.read(info, 4096)
    os.close(info)
    os.close(echo)
    if said != b"\n":
        os.kill(pid, kernel.SIGKILL)
        os.waitpid(pid, 0)
        raise HolderError(said.decode(errors="replace").strip() or "bwrap ended without a word")
    return pid, _child_pid(told)


def _become_bwrap(path: str, *, doors: list[int], options: int, rules: int, facts: int, stdio: tuple[int, int]) -> None:
    """Never returns."""
    try:
        for door in doors:
            os.write(door, b"0")
        for number, fd in ((0, stdio[0]), (1, stdio[1]), (2, stdio[1])):
            os.dup2(fd, number)
        for fd in (options, rules, facts):
            os.set_inheritable(fd, True)
        kernel.reset_signals()
        descriptors = ["--args", str(options), "--seccomp", str(rules), "--info-fd", str(facts)]
        # An empty environment: bwrap's own can be read inside, whatever it clears for the program.
        os.execve(path, ["bwrap", *descriptors, "--", HOLDER], {})  # noqa: S606
    except OSError as error:
        os.write(1, f"{path}: {error}".encode())
    os._exit(126)


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
