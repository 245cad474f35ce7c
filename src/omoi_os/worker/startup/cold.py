"""The beginning: the worker's first event is durable and on its way before anything that takes long is imported."""

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
from omoi_os.worker.startup.driver_start import Launched, launch

#: How long the first event may wait for a connection before it is left to the delivery.
SEND_SECONDS = 1.0

_PLAIN = "http://"


class Begun:
    """What was done before the rest of the worker was there."""

    __slots__ = ("answer", "child", "is_started", "variables")

    def __init__(self, given: dict[str, str], child: Launched | None = None) -> None:
        #: The variables of the start.
        self.variables = given
        #: The agent child, if it was started.
        self.child = child
        #: Whether `agent.started` is in the spool.
        self.is_started = False
        #: The connection on which the answer to `agent.started` will come, if it was sent.
        self.answer: int | None = None


def begin() -> Begun:
    """Begin a start whose variables are this process's own; what is wrong with them is found out later."""
    hold_sigterm()
    begun = Begun(dict(os.environ))
    try:
        assignment = variables.assignment(begun.variables)
    except variables.BadEnvironment:
        return begun
    report_start(begun, assignment)
    home = home_of(begun.variables)
    # What fails here is tried again, and told, by the attempt itself.
    try:
        begun.child = launch(home)
    except OSError:
        begun.child = None
    return begun


def hold_sigterm() -> None:
    """Keep SIGTERM waiting until somebody is there to handle it."""
    _signal.pthread_sigmask(_signal.SIG_BLOCK, [_signal.SIGTERM])


def home_of(given: dict[str, str]) -> str:
    """The agent's home."""
    return given.get("HOME") or paths.HOME


def _spare_tls(url: str) -> None:
    """Where nothing is encrypted, asyncio does without OpenSSL, which is slow to load and large."""
    if url.startswith(_PLAIN):
        sys.modules.setdefault("ssl", None)  # type: ignore[arg-type]


def report_start(begun: Begun, assignment: dict[str, object]) -> None:
    """Write `agent.started` into an empty spool, make it safe and send it; whatever fails is left to the delivery."""
    _spare_tls(begun.variables["CALLBACK_URL"])
    event = _started(assignment)
    if event is None:
        return
    try:
        file = _open_spool(home_of(begun.variables))
    except OSError:
        return
    try:
        begun.is_started = _append(file, frame(event))
        if begun.is_started:
            os.fdatasync(file)
            begun.answer = _send(begun.variables, event)
    except (OSError, ValueError):
        # It waits in the spool, or the attempt writes it there.
        return
    finally:
        os.close(file)


def _started(assignment: dict[str, object]) -> bytes | None:
    """The event as `Report.emit` would write it; None when a field is not what it should be."""
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
    """Write the first frame; False when there are others already or there is no room for it."""
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
    """Post it, and leave the answer for later: the connection's descriptor. None when it has to go another way."""
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
    """To the gateway's socket itself where there is one, else to the host of the URL."""
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
