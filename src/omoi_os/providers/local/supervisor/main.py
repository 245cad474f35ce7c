"""One sandbox's life: started, served, ended, recorded, and kept for commands a while longer."""

import os
import select
import time

from omoi_os.protocol import paths
from omoi_os.providers.local.supervisor import cgroups, kernel, record, spawn
from omoi_os.providers.local.supervisor.control_socket import Commands
from omoi_os.providers.local.supervisor.namespaces import Hold
from omoi_os.providers.local.supervisor.tail import Tail

#: The first process, or bwrap, ended by itself; how is seen from its status.
ENDED = "ended"

#: How long after the end, or the last command since, this program stays to run commands.
KEEP_SECONDS = 600.0

#: How much of the first process's output is kept for a look afterwards, from each end.
OUTPUT_BYTES = 64 * 1024


class Supervisor:
    """Holds one sandbox: it outlives its starter, and everything inside ends with it.

    When the first process ends, everything inside is killed, namespaces, mounts and groups included. A command after
    that makes them anew over the same files.
    """

    def __init__(self, launch: dict[str, list[str]]) -> None:
        self.argv = launch["argv"]
        self.env = dict(item.split("=", 1) for item in launch["env"])
        self.deadline = time.monotonic() + float(launch["lifetime"][0])
        self.poll = select.poll()
        self.hold = Hold(launch, poll=self.poll)
        self.leader = 0
        self.output = Tail(OUTPUT_BYTES)
        self.pipe = -1
        self.commands = Commands(
            self._start,
            env=self.env,
            poll=self.poll,
            children=self.hold.children,
            answers={b"usage": self._tell_usage, b"home": self._open_home, b"workspace": self._open_workspace},
        )

    def start(self) -> None:
        """Make the sandbox and start its first process; without one, only be ready for commands."""
        if self.argv:
            self._start_leader()
        else:
            self._mark_ended()
            if not os.access(record.END, os.F_OK):
                record.tell_end("unknown", {})
        self.commands.listen("control")
        record.tell_state(self.hold.init)

    def release(self) -> None:
        """Kill everything and let go of all that the sandbox consists of but its files."""
        self.commands.abandon()
        self.hold.release()

    def run(self) -> None:
        """Serve until the sandbox ends, in whatever way, record which, and serve commands for a while longer."""
        stopped = False
        if self.leader:
            reason = self._serve()
            self._end(reason)
            stopped = reason == "destroyed"
        if not stopped:
            self._linger()
        self.release()

    def _start(self, command: spawn.Command) -> tuple[int, int]:
        anew = not self.hold.init
        started = self.hold.start(command)
        if anew and self.hold.ended:
            record.tell_state(self.hold.init)
        return started

    def _start_leader(self) -> None:
        self.pipe, output = os.pipe()
        os.set_blocking(self.pipe, False)
        nothing = os.open(os.devnull, os.O_RDONLY)
        command = spawn.Command(
            self.argv, env=self.env, cwd=paths.WORKSPACE, stdio=[nothing, output, output], alone=False
        )
        self.leader, namespace = self._start(command)
        os.close(namespace)
        self.hold.children[self.leader] = os.pidfd_open(self.leader)
        for fd in (self.hold.children[self.leader], self.pipe):
            self.poll.register(fd, select.POLLIN)
        os.close(output)
        os.close(nothing)

    def _serve(self) -> str:
        """Until the sandbox must end; why."""
        while True:
            ends = self._ends()
            ready = self._wait(self.deadline)
            if self.pipe in ready and not self._keep_output():
                self.poll.unregister(self.pipe)
            if self.commands.serve(ready):
                return "destroyed"
            if ends & ready:
                return ENDED
            if self.hold.disk.look(ready):
                return "disk_full"
            if time.monotonic() >= self.deadline:
                return "lifetime"

    def _linger(self) -> None:
        until = time.monotonic() + KEEP_SECONDS
        while time.monotonic() < until:
            ready = self._wait(until)
            if self.hold.init and (self._ends() & ready or self.hold.disk.look(ready)):
                # What else is ready waits for the next turn: its descriptors' numbers may be others' by now.
                self.release()
                continue
            if self.commands.serve(ready):
                return
            if self.commands.runs:
                until = time.monotonic() + KEEP_SECONDS

    def _wait(self, until: float) -> set[int]:
        """Descriptors on which something happened, once it did or something is due."""
        look = self.hold.disk.deadline if self.hold.init else until
        wait = max(0.0, min(until, look, self.commands.next_deadline()) - time.monotonic())
        return {fd for fd, _ in self.poll.poll(min(wait * 1000 + 1, 2**31 - 1))}

    def _ends(self) -> set[int]:
        """Descriptors that tell of the end of bwrap, its init or the first process."""
        return {self.hold.pidfd, *self.hold.children.values()} - {run.pidfd for run in self.commands.runs}

    def _tell_usage(self) -> tuple[str, list[int]]:
        figures = (*self.hold.usage(), self.hold.disk.used())
        return " ".join("-" if figure is None else str(figure) for figure in figures), []

    def _open_home(self) -> tuple[str, list[int]]:
        return "open", [self.hold.open(paths.HOME)]

    def _open_workspace(self) -> tuple[str, list[int]]:
        return "open", [self.hold.open(paths.WORKSPACE)]

    def _keep_output(self) -> bool:
        """Take in what the first process has printed; False when there will be no more."""
        try:
            chunk = os.read(self.pipe, 65536)
        except BlockingIOError:
            return True
        self.output.add(chunk)
        return bool(chunk)

    def _end(self, reason: str) -> None:
        """Kill everything, record how it ended, wake those who wait for that."""
        self.commands.abandon()
        status = self.hold.kill(self.leader)
        self._keep_output()
        record.write(record.OUTPUT, self.output.kept())
        code = os.waitstatus_to_exitcode(status) if status is not None else -kernel.SIGKILL
        kills = cgroups.out_of_memory_kills(self.hold.groups)
        if reason == ENDED:
            reason = self._explain(code, kills)
        exit_code, signal = (None, -code) if code < 0 else (code, None)
        memory, seconds, pids = cgroups.usage(self.hold.groups, peak=True)
        figures: dict[str, int | float | None] = {"exit_code": exit_code, "signal": signal, "oom_kills": kills}
        figures |= {"memory_bytes": memory, "cpu_seconds": seconds, "pids": pids, "disk_bytes": self.hold.disk.used()}
        record.tell_end(reason, figures)
        self.hold.release()
        self._mark_ended()

    def _mark_ended(self) -> None:
        self.hold.ended = True
        self.commands.tell_end()

    def _explain(self, code: int, kills: int) -> str:
        """Why the first process ended by itself."""
        if kills and (code > 0 or code == -kernel.SIGKILL):
            return "out_of_memory"
        if code != 0 and self.hold.disk.is_full():
            return "disk_full"
        return "signalled" if code < 0 else "exited"
