"""Containers without isolation and limits: the positive control of the isolation tests."""

import asyncio
import contextlib
import os
import socket
from collections.abc import AsyncIterator, Sequence
from datetime import timedelta
from pathlib import Path
from typing import Any

import docker
from docker.errors import APIError
from docker.models.containers import Container
from docker.utils.socket import frames_iter
from requests.exceptions import ConnectionError as NoAnswer
from requests.exceptions import ReadTimeout

from omoi_os.errors import SandboxGone
from omoi_os.protocol import paths
from omoi_os.providers.base import EndReason, ExecResult, Limits, ListedSandbox, SandboxRef, SandboxReport, SandboxSpec
from omoi_os.providers.image import IMAGE_RUNTIME

#: What the attacks need, by their numbers. Not `privileged`: that fails where the engine itself lacks a single one.
_CAPABILITIES = {
    "DAC_READ_SEARCH": 2,
    "NET_RAW": 13,
    "SYS_MODULE": 16,
    "SYS_RAWIO": 17,
    "SYS_PTRACE": 19,
    "SYS_PACCT": 20,
    "SYS_ADMIN": 21,
    "SYS_BOOT": 22,
    "SYS_TIME": 25,
    "MKNOD": 27,
    "SYSLOG": 34,
}


def _capabilities() -> list[str]:
    status = Path("/proc/self/status").read_text()
    held = int(status.partition("CapBnd:")[2].split()[0], 16)
    return [name for name, number in _CAPABILITIES.items() if held >> number & 1]


class WeakContainers:
    """Containers of root in the host's namespaces, with its temporary folder, our home and environment."""

    name = "weak-docker"
    site = "here"
    runtime = IMAGE_RUNTIME
    has_gateway_socket = False
    limits = Limits(*["not limited"] * 4)
    limits_warning: str | None = None

    def __init__(self, engine: docker.DockerClient, *, image: str, root: Path) -> None:
        self._engine = engine
        self._image = image
        self._root = root
        self._found: dict[str, Container] = {}
        self._owners: dict[str, str] = {}

    async def create(self, spec: SandboxSpec) -> SandboxRef:
        workspace, home = self._root / spec.id, self._root / f"{spec.id}-home"
        workspace.mkdir()
        home.mkdir()
        self._found[spec.id] = await asyncio.to_thread(
            self._engine.containers.run,
            self._image,
            list(spec.argv),
            name=spec.id,
            entrypoint=[],
            environment={**os.environ, **spec.env, "HOME": str(home)},
            working_dir=str(workspace),
            user="0:0",
            cap_add=_capabilities(),
            security_opt=["seccomp=unconfined", "apparmor=unconfined"],
            network_mode="host",
            pid_mode="host",
            ipc_mode="host",
            volumes={folder: {"bind": folder, "mode": "rw"} for folder in ("/tmp", str(Path.home()))},
            detach=True,
        )
        self._owners[spec.id] = spec.owner
        return SandboxRef(spec.id)

    async def exec(
        self, ref: SandboxRef, argv: Sequence[str], *, stdin: bytes = b"", cwd: str | None = None, timeout: timedelta
    ) -> ExecResult:
        async with asyncio.timeout(timeout.total_seconds()):
            return await asyncio.to_thread(self._exec, ref, argv, stdin)

    async def write_file(self, ref: SandboxRef, path: str, content: bytes) -> None:
        self._path(ref, path).write_bytes(content)

    async def read_file(self, ref: SandboxRef, path: str) -> bytes:
        return self._path(ref, path).read_bytes()

    async def inspect(self, ref: SandboxRef, *, wait: timedelta | None = None) -> SandboxReport:
        container = self._existing(ref)
        seconds = max(0.1, (wait or timedelta()).total_seconds())
        try:
            ended = await asyncio.to_thread(container.wait, timeout=seconds)
        except (NoAnswer, ReadTimeout):
            return SandboxReport(alive=True)
        return SandboxReport(False, EndReason.EXITED, int(ended["StatusCode"]))

    async def list(self, *, owner: str) -> AsyncIterator[ListedSandbox]:
        for ref, its_owner in list(self._owners.items()):
            if its_owner == owner:
                yield ListedSandbox(SandboxRef(ref), id=ref)

    async def destroy(self, ref: SandboxRef) -> None:
        """Ask it to stop, without killing it."""
        if self._owners.pop(ref, None) is not None:
            with contextlib.suppress(APIError):
                # It may have ended by itself.
                await asyncio.to_thread(self._found[ref].kill, "SIGTERM")

    def close(self) -> None:
        """Remove everything."""
        for container in self._found.values():
            container.remove(force=True, v=True)

    def _existing(self, ref: str) -> Container:
        if ref not in self._owners:
            raise SandboxGone(f"{ref} is gone")
        return self._found[ref]

    def _path(self, ref: str, path: str) -> Path:
        return self._root / ref / path.removeprefix(f"{paths.WORKSPACE}/")

    def _exec(self, ref: str, argv: Sequence[str], stdin: bytes) -> ExecResult:
        api = self._engine.api
        made = api.exec_create(self._existing(ref).id, list(argv), stdin=True, workdir=str(self._root / ref))
        stream: Any = api.exec_start(made["Id"], socket=True)
        outputs = {1: b"", 2: b""}
        try:
            stream._sock.sendall(stdin)
            stream._sock.shutdown(socket.SHUT_WR)
            for kind, chunk in frames_iter(stream, tty=False):  # type: ignore[no-untyped-call]
                outputs[kind] += chunk
        finally:
            # The response keeps the connection otherwise.
            stream._response.close()
            stream.close()
        return ExecResult(api.exec_inspect(made["Id"])["ExitCode"], outputs[1], outputs[2])
