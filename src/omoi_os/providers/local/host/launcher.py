"""Starting a supervisor, detached from this process, and waiting until its sandbox is up."""

import contextlib
import os
import select
import socket
import subprocess
import sys
import threading
import time
import weakref
from pathlib import Path

import omoi_os
from omoi_os.errors import ProviderError, ProviderUnavailable
from omoi_os.providers import checkout_folder
from omoi_os.providers.base import SandboxSpec
from omoi_os.providers.local.host import profile, seccomp
from omoi_os.providers.local.host.machine import Machine
from omoi_os.providers.local.supervisor import documents

START_SECONDS = 40.0

_PROGRAM = (
    "import sys; sys.path.insert(0, sys.argv[1]); from omoi_os.providers.local.supervisor.forker import main; main()"
)

#: Space for a supervisor to show its sandbox's folder in its command line.
_PADDING = "-" * 1024


def describe(spec: SandboxSpec, folder: Path, *, machine: Machine, uid: int | None, image: bool) -> bytes:
    """Return everything that a supervisor needs, including the environment, which is never written to disk."""
    resources = spec.resources
    groups = machine.groups_for(folder)
    options = profile.arguments(
        machine.host,
        folder,
        gateway_folder=spec.gateway_folder,
        mirror=spec.mirror,
        memory_bytes=resources.memory_bytes,
    )
    limits = [resources.memory_bytes, resources.cpus, resources.pids, resources.disk_bytes]
    return documents.pack(
        {
            "folder": [str(folder)],
            "bwrap": [str(machine.bwrap)],
            "profile": options,
            "seccomp": [seccomp.build_filter().hex()],
            "controllers": list(groups),
            "groups": list(groups.values()),
            "limits": [str(limit) for limit in limits],
            "image": ["yes"] if image else [],
            "checkout": [str(checkout_folder.tree_of(spec.checkout))] if spec.checkout else [],
            "lifetime": [str(spec.lifetime.total_seconds())],
            "uid": [] if uid is None else [str(uid)],
            "argv": list(spec.argv),
            "env": [f"{name}={value}" for name, value in spec.env.items()],
        }
    )


class Launcher:
    """Starts supervisors through a separate process, which ends with this object; the supervisors continue."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._channel: socket.socket | None = None

    def warm_up(self) -> None:
        """Start the separate process, so that the first sandbox starts quickly."""
        with self._lock:
            self._open()

    def start(self, folder: Path, document: bytes, *, lock: int) -> None:
        """Start a supervisor and wait until its sandbox is up. Raises `ProviderError` if that fails.

        The supervisor holds `lock`, a descriptor, until then, even if this process ends.
        """
        ours, theirs = os.pipe()
        description = os.memfd_create("omoi", os.MFD_CLOEXEC)
        try:
            with open(description, "wb", closefd=False) as file:
                file.write(document)
            self._send([description, lock, theirs])
            os.close(theirs)
            theirs = -1
            answer = _read_answer(ours)
        finally:
            for fd in (ours, theirs, description):
                if fd >= 0:
                    os.close(fd)
        if answer is None:
            raise ProviderUnavailable(f"Sandbox {folder.name} did not start within {START_SECONDS:g} s.")
        if answer != b"ready":
            reason = answer.decode(errors="replace") or "its supervisor ended without a message"
            raise ProviderError(f"Sandbox {folder.name} could not be created: {reason}.")

    def _send(self, fds: list[int]) -> None:
        with self._lock:
            try:
                socket.send_fds(self._open(), [b"start"], fds)
                return
            except OSError:
                # It was killed: start another one and send the request again.
                self._close()
            try:
                socket.send_fds(self._open(), [b"start"], fds)
            except OSError as error:
                self._close()
                raise ProviderUnavailable(f"No supervisor can be started on this machine: {error}.") from error

    def _open(self) -> socket.socket:
        if self._channel is None:
            self._channel, theirs = socket.socketpair(socket.AF_UNIX, socket.SOCK_SEQPACKET)
            weakref.finalize(self, self._channel.close)
            self._channel.settimeout(START_SECONDS)
            source = str(Path(omoi_os.__file__).parent.parent)
            fd = theirs.fileno()
            command = [sys.executable, "-I", "-S", "-c", _PROGRAM, source, str(fd), _PADDING]
            with theirs:
                subprocess.run(
                    command,
                    stdin=subprocess.DEVNULL,
                    stdout=subprocess.DEVNULL,
                    stderr=subprocess.DEVNULL,
                    env={},
                    cwd="/",
                    pass_fds=[fd],
                    start_new_session=True,
                    check=False,
                )
        return self._channel

    def _close(self) -> None:
        if self._channel is not None:
            with contextlib.suppress(OSError):
                self._channel.close()
            self._channel = None


def _read_answer(pipe: int) -> bytes | None:
    """Return what is written until the pipe is closed, or None if that takes too long."""
    deadline = time.monotonic() + START_SECONDS
    poll = select.poll()
    poll.register(pipe, select.POLLIN)
    received = b""
    while poll.poll(max(0.0, deadline - time.monotonic()) * 1000):
        chunk = os.read(pipe, 4096)
        if not chunk:
            return received
        received += chunk
    return None
