"""The supervisor's control socket: runs commands, answers questions, and receives the request to stop."""

# No pathlib or contextlib here: they would double the supervisor's start.
# ruff: noqa: PTH101, PTH108, SIM105

import _socket  # `socket` itself imports so much that the supervisor's start would take twice as long
import os
import select
import time
from collections.abc import Callable

from omoi_os.providers.guest.launch import LaunchError
from omoi_os.providers.local.supervisor import documents, processes, spawn

#: How long the processes of one command may take to die.
KILL_SECONDS = 5.0

#: The longest request.
MAX_REQUEST_BYTES = 16 * 1024 * 1024
_ENDLESS = float("inf")

#: Answers a question with a text and descriptors; may raise `OSError`.
Answer = Callable[[], tuple[str, list[int]]]


class _Run:
    """A command that runs for a caller."""

    def __init__(self, caller: _socket.socket, *, pid: int, namespace: int, deadline: float) -> None:
        self.caller = caller
        self.pid = pid
        self.pidfd = os.pidfd_open(pid)
        self.namespace = namespace
        self.deadline = deadline


class Commands:
    """Serves callers: each connects, sends one packet with its descriptors, and receives one packet.

    A caller that sends `wait` receives no packet: its connection is closed when the sandbox ends.
    """

    def __init__(
        self,
        start: Callable[[spawn.Command], tuple[int, int]],
        *,
        env: dict[str, str],
        poll: select.poll,
        children: dict[int, int],
        answers: dict[bytes, Answer],
    ) -> None:
        self.start = start
        self.env = env
        self.poll = poll
        #: All children of the supervisor, including the commands.
        self.children = children
        self.answers = answers
        self.listener = _socket.socket(_socket.AF_UNIX, _socket.SOCK_SEQPACKET)
        self.callers: dict[int, _socket.socket] = {}
        self.waiters: dict[int, _socket.socket] = {}
        self.runs: list[_Run] = []
        self.ended = False

    def listen(self, path: str) -> None:
        """Open the socket, for our own uid only. An earlier supervisor may have left one of that name."""
        try:
            os.unlink(path)
        except FileNotFoundError:
            pass
        self.listener.bind(path)
        os.chmod(path, 0o600)
        self.listener.listen(64)
        self.listener.setblocking(False)
        self.poll.register(self.listener.fileno(), select.POLLIN)

    def next_deadline(self) -> float:
        """Return when the first of the running commands times out."""
        return min((run.deadline for run in self.runs), default=_ENDLESS)

    def serve(self, ready: set[int]) -> bool:
        """Do what is due. Return True if a caller requested to stop the sandbox."""
        if self.listener.fileno() in ready:
            self._accept()
        for run in list(self.runs):
            if run.pidfd in ready:
                self._finish(run, "")
            elif run.caller.fileno() in ready:
                self._finish(run, "cancelled")
            elif time.monotonic() >= run.deadline:
                self._finish(run, "timeout")
        for fd in ready & self.waiters.keys():
            self._hang_up(self.waiters.pop(fd))
        words = [self._take(caller) for fd, caller in list(self.callers.items()) if fd in ready]
        return b"stop" in words

    def abandon(self) -> None:
        """Drop the commands, which are about to be killed; their callers get no answer."""
        for run in self.runs:
            self.poll.unregister(run.pidfd)
            os.close(run.namespace)
            self._hang_up(run.caller)
        self.runs.clear()

    def announce_end(self) -> None:
        """Close the connections of callers that wait for the end, now and from now on."""
        self.ended = True
        for waiter in self.waiters.values():
            self._hang_up(waiter)
        self.waiters.clear()

    def _accept(self) -> None:
        try:
            fd, _ = self.listener._accept()  # type: ignore[attr-defined]
        except BlockingIOError:
            return
        caller = _socket.socket(_socket.AF_UNIX, _socket.SOCK_SEQPACKET, 0, fd)
        self.callers[fd] = caller
        self.poll.register(fd, select.POLLIN)

    def _take(self, caller: _socket.socket) -> bytes:
        """Read the caller's packet and start what it requests. Return its first word."""
        fd = caller.fileno()
        del self.callers[fd]
        try:
            word, fds = spawn.receive(caller, _socket.MSG_DONTWAIT)
        except OSError:
            word, fds = b"", []
        try:
            if word == b"exec" and len(fds) == 4:
                self._start(caller, fds)
                return word
        finally:
            for passed in fds:
                os.close(passed)
        if word == b"wait" and not self.ended:
            self.waiters[fd] = caller
            return word
        if word in self.answers:
            self._answer(caller, self.answers[word])
        self._hang_up(caller)
        return word

    def _answer(self, caller: _socket.socket, answer: Answer) -> None:
        try:
            text, fds = answer()
        except (OSError, LaunchError) as error:
            text, fds = f"refused {error}", []
        try:
            spawn.send(caller, text.encode(errors="replace")[:4000], fds, _socket.MSG_DONTWAIT)
        except OSError:
            pass
        for fd in fds:
            os.close(fd)

    def _start(self, caller: _socket.socket, fds: list[int]) -> None:
        request = documents.unpack(os.pread(fds[0], MAX_REQUEST_BYTES, 0))
        cwd, seconds = request["cwd"][0], float(request["timeout"][0])
        command = spawn.Command(request["argv"], env=self.env, cwd=cwd, stdio=fds[1:], alone=True)
        try:
            pid, namespace = self.start(command)
        except (OSError, LaunchError) as error:
            self._reply(caller, f"refused {getattr(error, 'code', 126)} {error}")
            return
        run = _Run(caller, pid=pid, namespace=namespace, deadline=time.monotonic() + seconds)
        self.runs.append(run)
        self.children[pid] = run.pidfd
        self.poll.register(run.pidfd, select.POLLIN)

    def _finish(self, run: _Run, word: str) -> None:
        """Kill what is left of the command, and reply."""
        self.runs.remove(run)
        self.poll.unregister(run.pidfd)
        dead = processes.kill_members(run.namespace, seconds=KILL_SECONDS)
        os.close(run.namespace)
        if not dead:
            self._reply(run.caller, "refused 126 its processes could not be killed")
            return
        _, status = os.waitpid(run.pid, 0)
        os.close(self.children.pop(run.pid))
        code = os.waitstatus_to_exitcode(status)
        self._reply(run.caller, word or f"exit {code if code >= 0 else 128 - code}")

    def _reply(self, caller: _socket.socket, text: str) -> None:
        try:
            caller.send(text.encode(errors="replace")[:4000], _socket.MSG_DONTWAIT)
        except OSError:
            pass
        self._hang_up(caller)

    def _hang_up(self, caller: _socket.socket) -> None:
        self.poll.unregister(caller.fileno())
        caller.close()
