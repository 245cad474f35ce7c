"""Starting a process inside a sandbox that is already up, as a child of the supervisor."""

import _socket  # `socket` itself imports so much that the supervisor's start would take twice as long
import os
import resource
import select
import sys

from omoi_os.providers.local.supervisor import kernel

#: How long a process may take from its start to its program. What runs inside could hold it up on purpose.
START_SECONDS = 5.0

#: How many files one sandboxed process may have open.
MAX_OPEN_FILES = 16_384

#: The least that one process may reserve where only that can be limited.
MIN_DATA_BYTES = 2 * 1024**3

_NAMESPACES = kernel.CLONE_NEWNS | kernel.CLONE_NEWPID | kernel.CLONE_NEWNET | kernel.CLONE_NEWIPC | kernel.CLONE_NEWUTS


class SpawnError(Exception):
    """The program could not be started. `code` is what a shell would answer: 127 not found, else 126."""

    def __init__(self, message: str, *, code: int = 126) -> None:
        super().__init__(message)
        self.code = code


class Place:
    """A sandbox as seen from outside: what to join and what to give up on the way in."""

    def __init__(self, *, uid: int | None, group_fds: list[int], program: bytes, limits: list[tuple[int, int]]) -> None:
        #: The uid to become, or None where the user namespace already gives one.
        self.uid = uid
        #: Descriptors by which its control groups are joined.
        self.group_fds = group_fds
        self.program = program
        #: Limits on each process by itself.
        self.limits = limits


class Command:
    """What to run."""

    def __init__(self, argv: list[str], *, env: dict[str, str], cwd: str, stdio: list[int], alone: bool) -> None:
        self.argv = argv
        self.env = env
        self.cwd = cwd
        self.stdio = stdio
        #: Whether it gets a host-name namespace of its own, by which all that it starts can be found.
        self.alone = alone


def limits_of(groups: dict[str, str], *, limits: list[str], uid: int | None) -> list[tuple[int, int]]:
    """What each process is limited to by itself, and where the groups do not limit all of them together, more.

    `limits` are those of the sandbox: memory, processors, processes, disk.
    """
    memory_bytes, pids, disk_bytes = int(limits[0]), int(limits[2]), int(limits[3])
    found = [
        (resource.RLIMIT_CORE, 0),
        (resource.RLIMIT_NOFILE, MAX_OPEN_FILES),
        (resource.RLIMIT_FSIZE, max(disk_bytes, memory_bytes)),
    ]
    if not {"memory", "unified"} & groups.keys():
        # Never the address space: programs reserve far more of that than they use, and break. Even of data the
        # agent's program reserves up to a gigabyte that it does not use.
        found.append((resource.RLIMIT_DATA, max(memory_bytes, MIN_DATA_BYTES)))
    if not {"pids", "unified"} & groups.keys() and (uid is not None or kernel.counts_processes_by_namespace()):
        # The kernel counts per uid, and per user namespace where it can: the sandbox must have one or the other
        # to itself, or the limit would count processes outside it.
        found.append((resource.RLIMIT_NPROC, pids))
    return found


class Start:
    """A command on its way into a sandbox. The first process joins the control groups at once, which may take the
    kernel 10 ms; the rest of the sandbox can be made meanwhile."""

    def __init__(self, place: Place, command: Command) -> None:
        self._channel, theirs = _socket.socketpair(_socket.AF_UNIX, _socket.SOCK_SEQPACKET)
        self._guide = os.fork()
        if self._guide == 0:
            try:
                self._channel.close()
                _guide(place, command, theirs)
            finally:
                # Whatever happens, no second supervisor goes on from here.
                os._exit(126)
        theirs.close()

    def give_up(self) -> None:
        """There is no sandbox for it."""
        self._channel.close()
        os.waitpid(self._guide, 0)

    def enter(self, init: int) -> tuple[int, int]:
        """Start the command in the sandbox whose init this pidfd stands for; its own pid, once its program runs, and
        a descriptor of its host-name namespace.

        The namespace must be held from the start: the number of one that has ended is given to the next. Raises
        `SpawnError`.
        """
        try:
            send(self._channel, b"init", [init])
            pid, namespace, failure = _hear(self._channel)
        finally:
            self.give_up()
        if pid and namespace >= 0 and not failure:
            return pid, namespace
        if namespace >= 0:
            os.close(namespace)
        if pid:
            os.kill(pid, kernel.SIGKILL)
            os.waitpid(pid, 0)
        code, _, message = (failure or "126 it was killed before its program started").partition(" ")
        raise SpawnError(message, code=int(code))


def send(channel: _socket.socket, data: bytes, fds: list[int], flags: int = 0) -> None:
    """One packet with descriptors."""
    given = b"".join(fd.to_bytes(4, sys.byteorder) for fd in fds)
    channel.sendmsg([data], [(_socket.SOL_SOCKET, _socket.SCM_RIGHTS, given)] if fds else [], flags)


def receive(channel: _socket.socket, flags: int = 0) -> tuple[bytes, list[int]]:
    """One packet and the descriptors that came with it."""
    flags |= _socket.MSG_CMSG_CLOEXEC
    data, control, _, _ = channel.recvmsg(4096, _socket.CMSG_SPACE(16), flags)
    given = b"".join(content for _, _, content in control)
    return data, [int.from_bytes(given[at : at + 4], sys.byteorder) for at in range(0, len(given), 4)]


def _hear(channel: _socket.socket) -> tuple[int, int, str]:
    """The pid, the namespace, and why the program does not run if so; in any order, for two processes tell them."""
    poll = select.poll()
    poll.register(channel.fileno(), select.POLLIN)
    pid, namespace, failure = 0, -1, ""
    while poll.poll(START_SECONDS * 1000):
        data, fds = receive(channel)
        if not data:
            return pid, namespace, failure
        if fds:
            namespace = fds[0]
        elif data.isdigit():
            pid = int(data)
        else:
            failure = data.decode(errors="replace")
    return pid, namespace, "126 it was held up before its program started"


def _guide(place: Place, command: Command, tell: _socket.socket) -> None:
    """Enter the sandbox and leave a child there whose parent is the supervisor. Never returns."""
    try:
        kernel.die_with_parent()
        if not command.alone:
            _join(place.group_fds)
        _, fds = receive(tell)
        if not fds:
            os._exit(126)
        user = kernel.CLONE_NEWUSER if place.uid is None else 0
        kernel.join_namespaces(fds[0], _NAMESPACES | user)
        pid = kernel.clone_as_sibling()
        if pid:
            tell.send(str(pid).encode())
            os._exit(0)
    except (OSError, ValueError) as error:
        _fail(tell, 126, error, command)
    _become(place, command, tell)


def _become(place: Place, command: Command, tell: _socket.socket) -> None:
    """Give up everything and turn into the program. Never returns."""
    try:
        if command.alone:
            # Only now: groups that are full would not let the guide leave a child.
            _join(place.group_fds)
        kernel.unshare(kernel.CLONE_NEWCGROUP | (kernel.CLONE_NEWUTS if command.alone else 0))
        namespace = os.open("/proc/self/ns/uts", os.O_RDONLY | os.O_CLOEXEC)
        send(tell, b"namespace", [namespace])
        os.setsid()
        os.umask(0o022)
        _limit(place.limits)
        _drop(place.uid)
        stdio = [os.dup(fd) for fd in command.stdio]
        for number, fd in enumerate(stdio):
            os.dup2(fd, number)
        kernel.reset_signals()
        os.chdir(command.cwd)
        kernel.install_filter(place.program)
        os.execvpe(command.argv[0], command.argv, command.env)  # noqa: S606
    except FileNotFoundError as error:
        _fail(tell, 127, error, command)
    except (OSError, ValueError) as error:
        _fail(tell, 126, error, command)


def _join(group_fds: list[int]) -> None:
    for fd in group_fds:
        os.write(fd, b"0")


def _fail(tell: _socket.socket, code: int, error: Exception, command: Command) -> None:
    reason = getattr(error, "strerror", None) or str(error)
    message = f"{code} {command.argv[0]} in {command.cwd}: {reason}"
    tell.send(message.encode(errors="replace")[:2000])
    os._exit(code)


def _limit(limits: list[tuple[int, int]]) -> None:
    for kind, value in limits:
        hard = resource.getrlimit(kind)[1]
        value = value if hard == resource.RLIM_INFINITY else min(value, hard)
        resource.setrlimit(kind, (value, value))


def _drop(uid: int | None) -> None:
    kernel.empty_bounding_set()
    if uid is not None:
        os.setgroups([])
        os.setresgid(uid, uid, uid)
        os.setresuid(uid, uid, uid)
    kernel.drop_capabilities()
