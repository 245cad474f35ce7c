"""Starting a process in a sandbox that is already up, as a child of the supervisor."""

import _socket  # `socket` itself imports so much that the supervisor's start would take twice as long
import os
import resource
import select
import sys

from omoi_os.providers.guest import kernel, launch
from omoi_os.providers.guest.launch import MAX_OPEN_FILES, START_SECONDS

#: The smallest limit on the memory that one process may reserve, where only that can be limited.
MIN_DATA_BYTES = 2 * 1024**3

_NAMESPACES = kernel.CLONE_NEWNS | kernel.CLONE_NEWPID | kernel.CLONE_NEWNET | kernel.CLONE_NEWIPC | kernel.CLONE_NEWUTS


class Target:
    """A sandbox as seen from outside: what a process joins, and what it gives up on the way in."""

    def __init__(self, *, uid: int | None, group_fds: list[int], program: bytes, limits: list[tuple[int, int]]) -> None:
        #: The uid to become, or None where the user namespace already gives one.
        self.uid = uid
        #: Descriptors that are written to to join its control groups.
        self.group_fds = group_fds
        self.program = program
        #: Resource limits of each process.
        self.limits = limits


class Command:
    """A command to run."""

    def __init__(self, argv: list[str], *, env: dict[str, str], cwd: str, stdio: list[int], alone: bool) -> None:
        self.argv = argv
        self.env = env
        self.cwd = cwd
        self.stdio = stdio
        #: Whether it gets its own host-name namespace, by which everything that it starts can be found.
        self.alone = alone


def limits_of(groups: dict[str, str], *, limits: list[str], uid: int | None) -> list[tuple[int, int]]:
    """Return the resource limits of each process. There are more where control groups do not limit the whole sandbox.

    `limits` are those of the sandbox: memory, processors, processes, disk.
    """
    memory_bytes, pids, disk_bytes = int(limits[0]), int(limits[2]), int(limits[3])
    found = [
        (resource.RLIMIT_CORE, 0),
        (resource.RLIMIT_NOFILE, MAX_OPEN_FILES),
        (resource.RLIMIT_FSIZE, max(disk_bytes, memory_bytes)),
    ]
    if not {"memory", "unified"} & groups.keys():
        # Never limit the address space: programs reserve far more of it than they use, and break. Even of data, the
        # agent's program reserves up to a gigabyte that it does not use.
        found.append((resource.RLIMIT_DATA, max(memory_bytes, MIN_DATA_BYTES)))
    if not {"pids", "unified"} & groups.keys() and (uid is not None or kernel.counts_processes_by_namespace()):
        # The kernel counts per uid, and per user namespace since 5.14: the sandbox must have its own uid or namespace,
        # or processes outside it would count.
        found.append((resource.RLIMIT_NPROC, pids))
    return found


class Start:
    """A command that is being started in a sandbox.

    The first process joins the control groups at once, which may take the kernel 10 ms; the rest of the sandbox is
    created meanwhile.
    """

    def __init__(self, target: Target, command: Command) -> None:
        self._channel, theirs = _socket.socketpair(_socket.AF_UNIX, _socket.SOCK_SEQPACKET)
        self._guide = os.fork()
        if self._guide == 0:
            try:
                self._channel.close()
                _guide(target, command, theirs)
            finally:
                # Whatever happens, the child must not continue as a second supervisor.
                os._exit(126)
        theirs.close()

    def give_up(self) -> None:
        """Cancel it: there is no sandbox."""
        self._channel.close()
        os.waitpid(self._guide, 0)

    def enter(self, init: int) -> tuple[int, int]:
        """Start the command in the sandbox that has this init, given as a pidfd.

        Return its pid once its program runs, and a descriptor of its host-name namespace. The descriptor must be open
        from the start, because the number of a namespace that has ended is reused. Raises `LaunchError`.
        """
        try:
            send(self._channel, b"init", [init])
            pid, namespace, failure = _receive_result(self._channel)
        finally:
            self.give_up()
        if pid and namespace >= 0 and not failure:
            return pid, namespace
        if namespace >= 0:
            os.close(namespace)
        if pid:
            os.kill(pid, kernel.SIGKILL)
            os.waitpid(pid, 0)
        raise launch.parse_failure(failure or "126 it was killed before its program started")


def send(channel: _socket.socket, data: bytes, fds: list[int], flags: int = 0) -> None:
    """Send one packet with descriptors."""
    given = b"".join(fd.to_bytes(4, sys.byteorder) for fd in fds)
    channel.sendmsg([data], [(_socket.SOL_SOCKET, _socket.SCM_RIGHTS, given)] if fds else [], flags)


def receive(channel: _socket.socket, flags: int = 0) -> tuple[bytes, list[int]]:
    """Receive one packet and its descriptors."""
    flags |= _socket.MSG_CMSG_CLOEXEC
    data, control, _, _ = channel.recvmsg(4096, _socket.CMSG_SPACE(16), flags)
    given = b"".join(content for _, _, content in control)
    return data, [int.from_bytes(given[at : at + 4], sys.byteorder) for at in range(0, len(given), 4)]


def _receive_result(channel: _socket.socket) -> tuple[int, int, str]:
    """Return the pid, the namespace, and why the program does not run, if so. Two processes send them, in any order."""
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
    return pid, namespace, "126 it was delayed before its program started"


def _guide(target: Target, command: Command, channel: _socket.socket) -> None:
    """Enter the sandbox and start a child there whose parent is the supervisor. Never returns."""
    try:
        kernel.die_with_parent()
        if not command.alone:
            _join(target.group_fds)
        _, fds = receive(channel)
        if not fds:
            os._exit(126)
        user = kernel.CLONE_NEWUSER if target.uid is None else 0
        kernel.join_namespaces(fds[0], _NAMESPACES | user)
        pid = kernel.clone_as_sibling()
        if pid:
            channel.send(str(pid).encode())
            os._exit(0)
    except (OSError, ValueError) as error:
        _fail(channel, error, _program(target, command))
    _become(target, command, channel)


def _become(target: Target, command: Command, channel: _socket.socket) -> None:
    """Drop all privileges and turn into the program. Never returns."""
    try:
        if command.alone:
            # Only now: in full control groups the guide could not start a child.
            _join(target.group_fds)
        kernel.unshare(kernel.CLONE_NEWCGROUP | (kernel.CLONE_NEWUTS if command.alone else 0))
        namespace = os.open("/proc/self/ns/uts", os.O_RDONLY | os.O_CLOEXEC)
        send(channel, b"namespace", [namespace])
        os.setsid()
        os.umask(0o022)
        launch.set_limits(target.limits)
        _drop(target.uid)
        launch.execute(_program(target, command))
    except (OSError, ValueError) as error:
        _fail(channel, error, _program(target, command))


def _join(group_fds: list[int]) -> None:
    for fd in group_fds:
        os.write(fd, b"0")


def _program(target: Target, command: Command) -> launch.Program:
    return launch.Program(command.argv, env=command.env, cwd=command.cwd, stdio=command.stdio, seccomp=target.program)


def _fail(channel: _socket.socket, error: Exception, program: launch.Program) -> None:
    channel.send(launch.describe_failure(error, program))
    os._exit(126)


def _drop(uid: int | None) -> None:
    kernel.empty_bounding_set()
    if uid is not None:
        os.setgroups([])
        os.setresgid(uid, uid, uid)
        os.setresuid(uid, uid, uid)
    kernel.drop_capabilities()
