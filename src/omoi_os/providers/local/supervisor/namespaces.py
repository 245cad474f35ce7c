"""The processes, namespaces, mounts and control groups of one sandbox, which exist while something runs in it."""

# No contextlib here: it would slow the supervisor's start.
# ruff: noqa: SIM105

import os
import select
import time

from omoi_os.providers.guest import kernel
from omoi_os.providers.guest.launch import LaunchError
from omoi_os.providers.local.supervisor import anchor, cgroups, disk, processes, spawn

#: How long dying processes may take before the end is recorded all the same.
END_SECONDS = 1.5


class Namespaces:
    """A sandbox's namespaces. Its files stay when they are released, and are there again when they are opened."""

    def __init__(self, launch: dict[str, list[str]], *, poll: select.poll) -> None:
        self.launch = launch
        self.poll = poll
        self.groups = dict(zip(launch["controllers"], launch["groups"], strict=True))
        self.uid = int(launch["uid"][0]) if launch["uid"] else None
        self.disk: disk.Image | disk.Watched = disk.Watched(int(launch["limits"][3]))
        if launch["image"] and self.uid is not None:
            self.disk = disk.Image(self.uid, tree=next(iter(launch["checkout"]), None))
        #: Our children by pid, each with a pidfd: bwrap, the first process, commands.
        self.children: dict[int, int] = {}
        #: The pid of the sandbox's init, 0 while the namespaces are not open, and its pidfd.
        self.init = 0
        self.pidfd = -1
        #: Whether the sandbox's first process has ended: from then on, only commands open the namespaces.
        self.ended = False
        self._group_fds: list[int] = []
        self._key = -1
        self._bwrap = 0

    def start(self, command: spawn.Command) -> tuple[int, int]:
        """Start a process inside. Return its pid and a descriptor of its host-name namespace. Raises `LaunchError`."""
        if self.init:
            return spawn.Start(self._target(), command).enter(self.pidfd)
        try:
            self._make_groups()
            starting = spawn.Start(self._target(), command)
            try:
                self._open()
            except (OSError, anchor.AnchorError):
                starting.give_up()
                raise
            return starting.enter(self.pidfd)
        except (OSError, anchor.AnchorError) as error:
            self.release()
            raise LaunchError(str(error)) from error

    def open_folder(self, path: str) -> int:
        """Return a descriptor of a folder inside. Raises `LaunchError`."""
        if not self.init:
            try:
                self._make_groups()
                self._open()
            except (OSError, anchor.AnchorError) as error:
                self.release()
                raise LaunchError(str(error)) from error
        return os.open(f"/proc/{self.init}/root{path}", os.O_RDONLY | os.O_DIRECTORY | os.O_CLOEXEC)

    def usage(self) -> tuple[int | None, float | None, int | None]:
        """Return the memory, processor time and processes in use now."""
        figures = cgroups.usage(self.groups)
        return processes.usage(self.init) if figures[0] is None and self.init else figures

    def kill(self, leader: int) -> int | None:
        """Kill all processes and wait for them. Return the leader's wait status, unless it did not end.

        The pid namespace ends with its first process, but not before we have waited for those that are our children.
        """
        # bwrap itself ends after its child.
        for pidfd in [self.pidfd] if self.init else self.children.values():
            kernel.send_signal(pidfd, kernel.SIGKILL)
        status = None
        deadline = time.monotonic() + END_SECONDS
        # bwrap is the first of them and the last to end.
        for pid, pidfd in sorted(self.children.items(), key=lambda child: child[0] == self._bwrap):
            left = max(0, int((deadline - time.monotonic()) * 1000))
            if processes.has_ended(pidfd, wait_ms=left):
                _, ended = os.waitpid(pid, 0)
                status = ended if pid == leader else status
            self._close(pidfd)
        self.children.clear()
        return status

    def release(self) -> None:
        """Remove every process, namespace, mount and control group."""
        self.kill(0)
        self.disk.close()
        for fd in (*self._group_fds, self._key, self.pidfd):
            self._close(fd)
        self._group_fds = []
        self._key = self.pidfd = -1
        self.init = 0
        cgroups.remove(self.groups, seconds=5.0)

    def _make_groups(self) -> None:
        limits = self.launch["limits"]
        if self.ended:
            cgroups.remove(self.groups)
        cgroups.make(self.groups, memory_bytes=int(limits[0]), cpus=float(limits[1]), pids=int(limits[2]))
        self._group_fds = cgroups.open_groups(self.groups)

    def _open(self) -> None:
        arguments = [*self.launch["bwrap"], *self.launch["profile"]]
        bwrap, init, self._key = anchor.start(arguments, program=self._program(), prepare=self._attach_disk)
        self._bwrap = bwrap
        self.children[bwrap] = os.pidfd_open(bwrap)
        self.pidfd = os.pidfd_open(init)
        self.init = init
        for fd in (self.children[bwrap], self.pidfd):
            self.poll.register(fd, select.POLLIN)
        self.disk.open(init, poll=self.poll)

    def _attach_disk(self) -> None:
        self.disk.attach(ended=self.ended)

    def _target(self) -> spawn.Target:
        limits = spawn.limits_of(self.groups, limits=self.launch["limits"], uid=self.uid)
        return spawn.Target(uid=self.uid, group_fds=self._group_fds, program=self._program(), limits=limits)

    def _program(self) -> bytes:
        return bytes.fromhex(self.launch["seccomp"][0])

    def _close(self, fd: int) -> None:
        if fd < 0:
            return
        try:
            self.poll.unregister(fd)
        except KeyError:
            pass
        os.close(fd)
