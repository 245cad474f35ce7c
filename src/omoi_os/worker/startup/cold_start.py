"""The first stage of a cold start: store and send the worker's first event before anything slow is imported.

This stage uses the C modules behind `json`, `signal` and `socket`. Importing those three takes 8 ms of processor time,
as much as everything else until the first event (8.5 ms), and a ticket waits for that event (P1).
"""

from __future__ import annotations

import _json
import _signal  # type: ignore[import-not-found]
import _socket
import os
import sys
import time

from omoi_os.protocol import paths
from omoi_os.protocol.frames import frame
from omoi_os.worker.startup import handover, variables
from omoi_os.worker.startup.driver_start import LaunchedDriver, launch

#: How long the first event may wait for a connection. After that it waits in the spool for the delivery.
SEND_SECONDS = 1.0

_PLAIN = "http://"


class EarlyStart:
    """What the first stage has done."""

    __slots__ = ("answer", "driver", "is_reported", "variables")

    def __init__(self, given: dict[str, str], driver: LaunchedDriver | None = None) -> None:
        #: The variables of the start.
        self.variables = given
        #: The agent driver, if it was launched.
        self.driver = driver
        #: Whether `agent.started` is in the spool.
        self.is_reported = False
        #: The connection on which the answer to `agent.started` arrives, if it was sent.
        self.answer: int | None = None


def start() -> EarlyStart:
    """Report the start and launch the agent driver. Invalid variables are reported by the next stage."""
    hold_sigterm()
    early = EarlyStart(dict(os.environ))
    try:
        assignment = variables.assignment(early.variables)
    except variables.BadEnvironment:
        return early
    report_start(early, assignment)
    home = home_of(early.variables)
    # The attempt launches it again, and reports why it fails.
    try:
        early.driver = launch(home)
    except OSError:
        early.driver = None
    return early


def hold_sigterm() -> None:
    """Block SIGTERM until its handler is installed."""
    _signal.pthread_sigmask(_signal.SIG_BLOCK, [_signal.SIGTERM])


def home_of(given: dict[str, str]) -> str:
    """Return the agent's home."""
    return given.get("HOME") or paths.HOME


def report_start(early: EarlyStart, assignment: dict[str, object]) -> None:
    """Write `agent.started` to an empty spool, sync it and send it. What fails is left to the delivery."""
    event = _started(assignment)
    if event is None:
        return
    try:
        file = _open_spool(home_of(early.variables))
    except OSError:
        return
    try:
        early.is_reported = _append(file, frame(event))
        if early.is_reported:
            os.fdatasync(file)
            early.answer = _send(early.variables, event)
    except (OSError, ValueError):
        # The event waits in the spool, or the attempt writes it there.
        return
    finally:
        os.close(file)


def _started(assignment: dict[str, object]) -> bytes | None:
    """Return the event as `Report.emit` would write it, or None if a field has the wrong type."""
    data = {name: assignment.get(name) for name in ("attempt", "branch_name", "model")}
    data |= {"mode": assignment.get("mode", "implementation"), "worker_pid": os.getpid()}
    data["python"] = sys.version.split()[0]
    now = time.time_ns()
    noted = time.strftime("%Y-%m-%dT%H:%M:%S", time.gmtime(now // 10**9))
    digits = os.urandom(16).hex()
    event_id = f"{digits[:8]}-{digits[8:12]}-4{digits[13:16]}-a{digits[17:20]}-{digits[20:]}"
    try:
        fields = ", ".join(f'"{name}": {_encoded(value)}' for name, value in data.items())
    except TypeError:
        return None
    return (
        f'{{"event_type": "agent.started", "event_data": {{{fields}}}, "source": "worker",'
        f' "event_id": "{event_id}", "seq": 1, "occurred_at": "{noted}.{now // 1000 % 10**6:06d}+00:00"}}'
    ).encode()


def _encoded(value: object) -> str:
    if value is None:
        return "null"
    return str(value) if type(value) is int else _json.encode_basestring_ascii(value)  # type: ignore[arg-type]


def _open_spool(home: str) -> int:
    folder = f"{home}/{handover.FOLDER}"
    os.makedirs(folder, mode=0o700, exist_ok=True)  # noqa: PTH103
    flags = os.O_RDWR | os.O_CREAT | os.O_CLOEXEC | os.O_NOFOLLOW
    return os.open(f"{folder}/{os.path.basename(paths.SPOOL)}", flags, 0o600)  # noqa: PTH119


def _append(file: int, written: bytes) -> bool:
    """Write the first frame. Return False if there are others already or the disk is full."""
    if os.fstat(file).st_size:
        return False
    try:
        if os.pwrite(file, written, 0) == len(written):
            return True
    except OSError:
        pass
    os.ftruncate(file, 0)
    return False


def _send(given: dict[str, str], event: bytes) -> int | None:
    """Post the event and return the descriptor on which the answer arrives; None for a URL that needs TLS."""
    url = given["CALLBACK_URL"]
    host, slash, path = url.removeprefix(_PLAIN).partition("/")
    if not url.startswith(_PLAIN) or not slash:
        return None
    body = b'{"events":[' + event + b"]}"
    head = (
        f"POST /{path}/batch HTTP/1.1\r\nHost: {host}\r\nConnection: close\r\nContent-Length: {len(body)}\r\n"
        f"Authorization: Bearer {given['ANTHROPIC_AUTH_TOKEN']}\r\nAccept: application/json\r\n"
        "Content-Type: application/json\r\n\r\n"
    )
    connection = _connect(given.get("OMOI_GATEWAY_FOLDER") or paths.GATEWAY_FOLDER, host)
    try:
        connection.sendall(head.encode("latin-1") + body)
    except OSError:
        connection.close()
        raise
    return connection.detach()


def _connect(gateway_folder: str, host: str) -> _socket.socket:
    """Connect to the gateway socket if there is one, else to the host of the URL."""
    name, _, port = host.partition(":")
    has_folder = os.path.isdir(gateway_folder)  # noqa: PTH112
    connection = _socket.socket(_socket.AF_UNIX if has_folder else _socket.AF_INET, _socket.SOCK_STREAM)
    connection.settimeout(SEND_SECONDS)
    try:
        connection.connect(f"{gateway_folder}/{paths.GATEWAY_SOCKET}" if has_folder else (name, int(port or 80)))
    except (OSError, ValueError):
        connection.close()
        raise
    return connection
