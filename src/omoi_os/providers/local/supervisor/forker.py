"""The process that forks supervisors, so that Python and its modules are loaded once and not for each sandbox."""

import _socket  # `socket` itself imports so much that the start would take twice as long
import os
import sys

from omoi_os.providers.guest import kernel
from omoi_os.providers.guest.launch import LaunchError
from omoi_os.providers.local.supervisor import anchor, documents, processes, spawn
from omoi_os.providers.local.supervisor.main import Supervisor

#: The longest description of a sandbox.
MAX_LAUNCH_BYTES = 64 * 1024 * 1024


def main() -> None:
    """Detach, and fork a supervisor for each packet from the socket, until it is closed.

    The last argument but one is the socket's descriptor; the last is a placeholder for a supervisor's command line. A
    packet has three descriptors: the sandbox's description, the lock on its folder, and a pipe for the answer.
    """
    if os.fork():
        os._exit(0)
    os.umask(0o077)
    kernel.hide_memory()
    kernel.let_children_go()
    channel = _socket.socket(fileno=int(sys.argv[-2]))
    os.set_inheritable(channel.fileno(), False)
    while True:
        word, fds = spawn.receive(channel)
        if not word:
            return
        if len(fds) == 3 and os.fork() == 0:
            try:
                channel.close()
                _supervise(fds[0], lock=fds[1], answer=fds[2])
            except BaseException:  # noqa: BLE001
                sys.excepthook(*sys.exc_info())
            finally:
                # Whatever happens, the child must not continue as a second forker.
                os._exit(1)
        for fd in fds:
            os.close(fd)


def _supervise(description: int, *, lock: int, answer: int) -> None:
    """Start the sandbox, report that, and supervise it. Closing the lock lets others use its folder."""
    launch = documents.unpack(os.pread(description, MAX_LAUNCH_BYTES, 0))
    os.close(description)
    os.setsid()
    os.chdir(launch["folder"][0])
    kernel.show_as(f"{processes.TITLE}{launch['folder'][0]}")
    kernel.take_children_back()
    kernel.hide_memory()
    kernel.join_new_session_keyring()
    supervisor = Supervisor(launch)
    try:
        supervisor.start()
    except (OSError, LaunchError, anchor.AnchorError) as error:
        supervisor.release()
        _report(answer, str(error))
        return
    log = os.open("supervisor.log", os.O_WRONLY | os.O_CREAT | os.O_APPEND | os.O_CLOEXEC, 0o600)
    os.dup2(log, 2)
    os.close(log)
    _report(answer, "ready")
    os.close(answer)
    os.close(lock)
    supervisor.run()
    os._exit(0)


def _report(answer: int, text: str) -> None:
    """Report to the process that asked for the sandbox, if it still runs."""
    try:
        os.write(answer, text.encode(errors="replace")[:4000])
    except BrokenPipeError:
        return
