"""The handover: give a waiting worker the variables of its start, from stdin; see `command.handover_argv`.

It runs between a claim and the agent's first call to the model, so it imports next to nothing.
"""

from __future__ import annotations

import _socket  # importing `socket` takes 5.8 ms of processor time, as long as starting Python
import os
import sys
import time

from omoi_os.protocol import paths

#: The most that all variables of a start may take as JSON.
MAX_VARIABLES_BYTES = 4 * 1024 * 1024

#: In the worker's own folder: the socket of a waiting worker, and the marker that it has had its task.
FOLDER = ".omoi"
SOCKET = "handover.sock"
TAKEN = "taken"

#: Also there: the marker that the agent driver has loaded, what was handed over, and the reporter's process id.
READY = "ready"
VARIABLES = "variables"
PID = paths.PID_FILE.rpartition("/")[2]

EXIT_ACCEPTED = 0
EXIT_REFUSED = 2
EXIT_ALREADY_USED = 4
EXIT_NO_WORKER = 5

#: How long a worker that has just started may take to listen.
LISTEN_SECONDS = 5.0
RETRY_SECONDS = 0.02
#: Loading the agent driver takes a second, and many times that on a busy machine.
ANSWER_SECONDS = 60.0
ANSWER_BYTES = 4096


def hand_over(home: str, variables: bytes, *, wait: float = LISTEN_SECONDS) -> tuple[int, str]:
    """Hand the variables over. Return the exit code, and the reason if they were not accepted."""
    if len(variables) > MAX_VARIABLES_BYTES:
        return EXIT_REFUSED, f"The variables are more than {MAX_VARIABLES_BYTES} bytes."
    folder = f"{home}/{FOLDER}"
    answer, reason = "", "it did not answer"
    try:
        answer = _ask(folder, variables, wait=wait)
    except OSError as error:
        reason = str(error)
    if answer in ("taken", "ready"):
        return EXIT_ACCEPTED, ""
    if answer:
        return EXIT_REFUSED, answer
    if _was_taken(folder):
        return EXIT_ALREADY_USED, "A warm sandbox is used once, and this one already has its task."
    return EXIT_NO_WORKER, f"No worker waits here: {reason}."


def _was_taken(folder: str) -> bool:
    return os.access(f"{folder}/{TAKEN}", os.F_OK)


def _ask(folder: str, variables: bytes, *, wait: float) -> str:
    connection = _connect(folder, deadline=time.monotonic() + wait)
    try:
        connection.settimeout(ANSWER_SECONDS)
        connection.sendall(variables)
        connection.shutdown(_socket.SHUT_WR)
        return connection.recv(ANSWER_BYTES).decode(errors="replace").strip()
    finally:
        connection.close()


def _connect(folder: str, *, deadline: float) -> _socket.socket:
    """Connect, retrying until the worker listens: nothing notifies us when a socket appears."""
    while True:
        connection = _socket.socket(_socket.AF_UNIX, _socket.SOCK_STREAM)
        try:
            connection.connect(f"{folder}/{SOCKET}")
        except OSError:
            connection.close()
            if _was_taken(folder) or time.monotonic() >= deadline:
                raise
            time.sleep(RETRY_SECONDS)
        else:
            return connection


def main() -> None:
    """Hand over what is on stdin."""
    variables = sys.stdin.buffer.read(MAX_VARIABLES_BYTES + 1)
    code, reason = hand_over(os.environ.get("HOME") or paths.HOME, variables)
    if reason:
        print(reason, file=sys.stderr)  # noqa: T201
    sys.exit(code)
