"""The small program that holds one sandbox: it outlives its starter, and everything inside ends with it.

It runs with `-I -S` on few modules, because its start is part of every sandbox's start.
"""

# No pathlib or contextlib here: they would double the supervisor's start.
# ruff: noqa: PTH105, PTH123, SIM105

import os
import select
import sys
import time

from omoi_os.protocol import paths
from omoi_os.providers.local import cgroups, documents, holder, kernel, processes, spawn
from omoi_os.providers.local.commands import Commands
from omoi_os.providers.local.tail import Tail

#: The first process, or bwrap, ended by itself; how is seen from its status.
ENDED = "ended"

#: How long the dying may take before the end is recorded all the same.
END_SECONDS = 1.5

#: How much of the first process's output is kept for a look afterwards, from each end.
OUTPUT_BYTES = 64 * 1024


class Supervisor:
    """One sandbox, from its start to its end."""

    def __init__(self, launch: dict[str, list[str]]) -> None:
        self.groups = dict(zip(launch["controllers"], launch["groups"], strict=True))
        self.deadline = time.monotonic() + float(launch["lifetime"][0])
        self.output = Tail(OUTPUT_BYTES)
        self.poll = select.poll()
        #: Our children by pid, each with a pidfd: bwrap, the first process, commands.
        self.children: dict[int, int] = {}
        self.init = -1
        self.leader = 0
        self.pipe = -1

    def start(self, launch: dict[str, list[str]]) -> None:
        """Make the groups and the sandbox, open the control socket, start the first process."""
        memory, cpus, pids = launch["limits"]
        cgroups.make(self.groups, memory_bytes=int(memory), cpus=float(cpus), pids=int(pids))
        doors = cgroups.open_doors(self.groups)
        program = bytes.fromhex(launch["seccomp"][0])
        bwrap, init = holder.hold([*launch["bwrap"], *launch["profile"]], program=program, doors=doors)
        self.children[bwrap] = os.pidfd_open(bwrap)
        self.init = os.pidfd_open(init)
        uid = int(launch["uid"][0]) if launch["uid"] else None
        limits = spawn.limits_without(self.groups, memory_bytes=int(memory), pids=int(pids), uid=uid)
        place = spawn.Place(self.init, uid=uid, doors=doors, program=program, limits=limits)
        env = dict(item.split("=", 1) for item in launch["env"])
        self.commands = Commands(place, env=env, poll=self.poll, children=self.children)
        self.commands.listen("control")
        self._start_leader(place, launch["argv"], env)
        own = processes.identify(os.getpid())
        write("state.json", f'{{"supervisor": "{own}", "init": "{processes.identify(init)}"}}')

    def _start_leader(self, place: spawn.Place, argv: list[str], env: dict[str, str]) -> None:
        self.pipe, output = os.pipe()
        os.set_blocking(self.pipe, False)
        nothing = os.open(os.devnull, os.O_RDONLY)
        stdio = [nothing, output, output]
        command = spawn.Command(argv, env=env, cwd=paths.WORKSPACE, stdio=stdio, alone=False)
        self.leader, namespace = spawn.spawn(place, command)
        os.close(namespace)
        self.children[self.leader] = os.pidfd_open(self.leader)
        os.close(output)
        os.close(nothing)

    def run(self) -> None:
        """Serve until the sandbox ends, in whatever way, and record which."""
        ends = {self.init, *self.children.values()}
        for fd in (*ends, self.pipe):
            self.poll.register(fd, select.POLLIN)
        reason = ""
        while not reason:
            wait = max(0.0, min(self.deadline, self.commands.next_deadline()) - time.monotonic())
            ready = {fd for fd, _ in self.poll.poll(min(wait * 1000 + 1, 2**31 - 1))}
            if self.pipe in ready and not self._keep_output():
                self.poll.unregister(self.pipe)
            stopped = self.commands.serve(ready)
            if ends & ready:
                reason = ENDED
            elif stopped:
                reason = "destroyed"
            elif time.monotonic() >= self.deadline:
                reason = "lifetime"
        self._end(reason)

    def _keep_output(self) -> bool:
        """Take in what the first process has printed; False when there will be no more."""
        try:
            chunk = os.read(self.pipe, 65536)
        except BlockingIOError:
            return True
        self.output.add(chunk)
        return bool(chunk)

    def _end(self, reason: str) -> None:
        """Kill everything, record how it ended, remove the groups."""
        status = self.kill()
        self._keep_output()
        with open("output.log", "wb") as file:
            file.write(self.output.kept())
        code = os.waitstatus_to_exitcode(status) if status is not None else -kernel.SIGKILL
        if reason == ENDED and code < 0:
            killed_for_memory = code == -kernel.SIGKILL and cgroups.out_of_memory_kills(self.groups) > 0
            reason = "out_of_memory" if killed_for_memory else "signalled"
        elif reason == ENDED:
            reason = "exited"
        exit_code, signal = ("null", str(-code)) if code < 0 else (str(code), "null")
        write("exit.json", f'{{"reason": "{reason}", "exit_code": {exit_code}, "signal": {signal}}}')
        cgroups.remove(self.groups)

    def kill(self) -> int | None:
        """End all processes and wait for them; the first one's status, unless it would not end.

        The pid namespace ends with its first process, but not before we have waited for those that are our children.
        """
        # bwrap itself is left to wait for its child and end.
        for pidfd in [self.init] if self.init >= 0 else self.children.values():
            kernel.send_signal(pidfd, kernel.SIGKILL)
        status = None
        deadline = time.monotonic() + END_SECONDS
        # bwrap is the first of them and the last to end.
        for pid, pidfd in reversed(self.children.items()):
            left = max(0, int((deadline - time.monotonic()) * 1000))
            if processes.has_ended(pidfd, wait_ms=left):
                _, ended = os.waitpid(pid, 0)
                status = ended if pid == self.leader else status
        return status


def write(name: str, text: str) -> None:
    """Write a file of the sandbox's folder so that it is there as a whole or not at all."""
    fd = os.open(f"{name}.new", os.O_WRONLY | os.O_CREAT | os.O_TRUNC | os.O_CLOEXEC, 0o600)
    os.write(fd, text.encode())
    os.close(fd)
    os.replace(f"{name}.new", name)


def main() -> None:
    """Detach, start the sandbox described on standard input, say so on standard output, hold it.

    The arguments are the sandbox's folder and the descriptor whose closing lets others look at it.
    """
    folder, lock = sys.argv[-2], int(sys.argv[-1])
    launch = documents.unpack(sys.stdin.buffer.read())
    if os.fork():
        os._exit(0)
    os.setsid()
    os.umask(0o077)
    os.chdir(folder)
    os.set_inheritable(lock, False)
    kernel.hide_memory()
    kernel.join_new_session_keyring()
    supervisor = Supervisor(launch)
    try:
        supervisor.start(launch)
    except (OSError, spawn.SpawnError, holder.HolderError) as error:
        supervisor.kill()
        cgroups.remove(supervisor.groups)
        _answer(str(error))
        return
    _answer("ready")
    _let_go()
    os.close(lock)
    supervisor.run()


def _answer(text: str) -> None:
    """Tell the starter, if it still lives. It reads until we let go of its pipe or end."""
    try:
        os.write(1, text.encode(errors="replace")[:4000])
    except BrokenPipeError:
        pass


def _let_go() -> None:
    """Hold none of the starter's pipes any longer; what goes wrong from here on is found in the folder."""
    nothing = os.open(os.devnull, os.O_RDWR)
    log = os.open("supervisor.log", os.O_WRONLY | os.O_CREAT | os.O_APPEND, 0o600)
    for number, fd in enumerate((nothing, nothing, log)):
        os.dup2(fd, number)
    os.close(nothing)
    os.close(log)
