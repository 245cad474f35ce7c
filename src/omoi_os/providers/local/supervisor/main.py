"""The supervisor: starts one sandbox, serves commands, records its end, and serves commands a while longer."""

import os
import select
import time

from omoi_os.protocol import paths
from omoi_os.providers.guest import kernel
from omoi_os.providers.guest.tail import Tail
from omoi_os.providers.local.supervisor import cgroups, record, spawn
from omoi_os.providers.local.supervisor.control_socket import Commands
from omoi_os.providers.local.supervisor.namespaces import Namespaces

#: The first process, or bwrap, ended by itself; its status says how.
ENDED = "ended"

#: How long after the end, or the last command since, the supervisor keeps serving commands.
KEEP_SECONDS = 600.0

#: How much of the first process's output is kept, from each end.
OUTPUT_BYTES = 64 * 1024


class Supervisor:
    """Supervises one sandbox: it outlives the process that started it, and everything inside ends with it.

    When the first process ends, everything inside is killed and the namespaces, mounts and control groups are removed.
    A later command creates them again over the same files.
    """

    def __init__(self, launch: dict[str, list[str]]) -> None:
        self.argv = launch["argv"]
        self.env = dict(item.split("=", 1) for item in launch["env"])
        self.deadline = time.monotonic() + float(launch["lifetime"][0])
        self.poll = select.poll()
        self.namespaces = Namespaces(launch, poll=self.poll)
        self.leader = 0
        self.output = Tail(OUTPUT_BYTES)
        self.pipe = -1
        self.commands = Commands(
            self._start,
            env=self.env,
            poll=self.poll,
            children=self.namespaces.children,
            answers={b"usage": self._report_usage, b"home": self._open_home, b"workspace": self._open_workspace},
        )

    def start(self) -> None:
        """Create the sandbox and start its first process; without one, only listen for commands."""
        if self.argv:
            self._start_leader()
        else:
            self._mark_ended()
            if not os.access(record.END, os.F_OK):
                record.write_end("unknown", {})
        self.commands.listen("control")
        record.write_state(self.namespaces.init)

    def release(self) -> None:
        """Kill everything and remove everything of the sandbox except its files."""
        self.commands.abandon()
        self.namespaces.release()

    def run(self) -> None:
        """Serve until the sandbox ends, record how, and serve commands for a while longer."""
        stopped = False
        if self.leader:
            reason = self._serve()
            self._end(reason)
            stopped = reason == "destroyed"
        if not stopped:
            self._linger()
        self.release()

    def _start(self, command: spawn.Command) -> tuple[int, int]:
        reopened = not self.namespaces.init
        started = self.namespaces.start(command)
        if reopened and self.namespaces.ended:
            record.write_state(self.namespaces.init)
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
        self.namespaces.children[self.leader] = os.pidfd_open(self.leader)
        for fd in (self.namespaces.children[self.leader], self.pipe):
            self.poll.register(fd, select.POLLIN)
        os.close(output)
        os.close(nothing)

    def _serve(self) -> str:
        """Serve until the sandbox must end. Return why."""
        while True:
            ends = self._ends()
            ready = self._wait(self.deadline)
            if self.pipe in ready and not self._keep_output():
                self.poll.unregister(self.pipe)
            if self.commands.serve(ready):
                return "destroyed"
            if ends & ready:
                return ENDED
            if self.namespaces.disk.look(ready):
                return "disk_full"
            if time.monotonic() >= self.deadline:
                return "lifetime"

    def _linger(self) -> None:
        until = time.monotonic() + KEEP_SECONDS
        while time.monotonic() < until:
            ready = self._wait(until)
            if self.namespaces.init and (self._ends() & ready or self.namespaces.disk.look(ready)):
                # Other ready descriptors wait for the next turn: their numbers may have been reused.
                self.release()
                continue
            if self.commands.serve(ready):
                return
            if self.commands.runs:
                until = time.monotonic() + KEEP_SECONDS

    def _wait(self, until: float) -> set[int]:
        """Wait until something happens or is due. Return the ready descriptors."""
        look = self.namespaces.disk.deadline if self.namespaces.init else until
        wait = max(0.0, min(until, look, self.commands.next_deadline()) - time.monotonic())
        return {fd for fd, _ in self.poll.poll(min(wait * 1000 + 1, 2**31 - 1))}

    def _ends(self) -> set[int]:
        """Return the descriptors that become ready when bwrap, its init or the first process ends."""
        return {self.namespaces.pidfd, *self.namespaces.children.values()} - {run.pidfd for run in self.commands.runs}

    def _report_usage(self) -> tuple[str, list[int]]:
        figures = (*self.namespaces.usage(), self.namespaces.disk.used())
        return " ".join("-" if figure is None else str(figure) for figure in figures), []

    def _open_home(self) -> tuple[str, list[int]]:
        return "open", [self.namespaces.open_folder(paths.HOME)]

    def _open_workspace(self) -> tuple[str, list[int]]:
        return "open", [self.namespaces.open_folder(paths.WORKSPACE)]

    def _keep_output(self) -> bool:
        """Read what the first process has printed. Return False at the end of its output."""
        try:
            chunk = os.read(self.pipe, 65536)
        except BlockingIOError:
            return True
        self.output.add(chunk)
        return bool(chunk)

    def _end(self, reason: str) -> None:
        """Kill everything, record how the sandbox ended, and wake the callers that wait for that."""
        self.commands.abandon()
        status = self.namespaces.kill(self.leader)
        self._keep_output()
        record.write(record.OUTPUT, self.output.kept())
        code = os.waitstatus_to_exitcode(status) if status is not None else -kernel.SIGKILL
        kills = cgroups.out_of_memory_kills(self.namespaces.groups)
        if reason == ENDED:
            reason = self._explain(code, kills)
        exit_code, signal = (None, -code) if code < 0 else (code, None)
        memory, seconds, pids = cgroups.usage(self.namespaces.groups, peak=True)
        figures: dict[str, int | float | None] = {"exit_code": exit_code, "signal": signal, "oom_kills": kills}
        figures |= {
            "memory_bytes": memory,
            "cpu_seconds": seconds,
            "pids": pids,
            "disk_bytes": self.namespaces.disk.used(),
        }
        record.write_end(reason, figures)
        self.namespaces.release()
        self._mark_ended()

    def _mark_ended(self) -> None:
        self.namespaces.ended = True
        self.commands.announce_end()

    def _explain(self, code: int, kills: int) -> str:
        """Return why the first process ended by itself."""
        if kills and (code > 0 or code == -kernel.SIGKILL):
            return "out_of_memory"
        if code != 0 and self.namespaces.disk.is_full():
            return "disk_full"
        return "signalled" if code < 0 else "exited"
