"""Containers with no walls and no limits: the positive control of everything that containers are said to wall off."""

import asyncio
import os
import socket
from collections.abc import AsyncIterator, Sequence
from datetime import timedelta
from pathlib import Path

import docker
from docker.models.containers import Container
from docker.utils.socket import frames_iter
from requests.exceptions import ConnectionError as NoAnswer
from requests.exceptions import ReadTimeout

from omoi_os.errors import SandboxGone
from omoi_os.protocol import paths
from omoi_os.providers.base import EndReason, ExecResult, SandboxRef, SandboxReport, SandboxSpec
from omoi_os.providers.image import IMAGE_RUNTIME


class WeakContainers:
    """Privileged containers, as root in the host's namespaces, with its temporary folder and our environment."""

    name = "weak-docker"
    site = "here"
    runtime = IMAGE_RUNTIME
    has_door = False
    limits_warning: str | None = None

    def __init__(self, engine: docker.DockerClient, *, image: str, root: Path) -> None:
        self._engine = engine
        self._image = image
        self._root = root
        self._found: dict[str, Container] = {}
        self._owners: dict[str, str] = {}

    async def create(self, spec: SandboxSpec) -> SandboxRef:
        workspace = self._root / spec.id
        workspace.mkdir(parents=True)
        self._found[spec.id] = await asyncio.to_thread(
            self._engine.containers.run,
            self._image,
            list(spec.argv),
            name=spec.id,
            entrypoint=[],
            environment={**os.environ, **spec.env, "HOME": str(workspace)},
            working_dir=str(workspace),
            user="0:0",
            privileged=True,
            network_mode="host",
            pid_mode="host",
            ipc_mode="host",
            volumes={"/tmp": {"bind": "/tmp", "mode": "rw"}},
            detach=True,
        )
        self._owners[spec.id] = spec.owner
        return SandboxRef(spec.id)

    async def exec(
        self, ref: SandboxRef, argv: Sequence[str], *, stdin: bytes = b"", cwd: str | None = None, timeout: timedelta
    ) -> ExecResult:
        async with asyncio.timeout(timeout.total_seconds()):
            return await asyncio.to_thread(self._exec, ref, argv, stdin)

    async def read_file(self, ref: SandboxRef, path: str) -> bytes:
        return (self._root / ref / path.removeprefix(f"{paths.WORKSPACE}/")).read_bytes()

    async def inspect(self, ref: SandboxRef, *, wait: timedelta | None = None) -> SandboxReport:
        container = self._existing(ref)
        seconds = max(0.1, (wait or timedelta()).total_seconds())
        try:
            ended = await asyncio.to_thread(container.wait, timeout=seconds)
        except (NoAnswer, ReadTimeout):
            return SandboxReport(alive=True)
        return SandboxReport(False, EndReason.EXITED, int(ended["StatusCode"]))

    async def list(self, *, owner: str) -> AsyncIterator[SandboxRef]:
        for ref, its_owner in list(self._owners.items()):
            if its_owner == owner:
                yield SandboxRef(ref)

    async def destroy(self, ref: SandboxRef) -> None:
        """Ask it to stop, and no more than that."""
        if self._owners.pop(ref, None) is not None:
            await asyncio.to_thread(self._found[ref].kill, "SIGTERM")

    def close(self) -> None:
        """Remove everything."""
        for container in self._found.values():
            container.remove(force=True, v=True)

    def _existing(self, ref: str) -> Container:
        if ref not in self._owners:
            raise SandboxGone(f"{ref} is gone")
        return self._found[ref]

    def _exec(self, ref: str, argv: Sequence[str], stdin: bytes) -> ExecResult:
        api = self._engine.api
        made = api.exec_create(self._existing(ref).id, list(argv), stdin=True, workdir=str(self._root / ref))
        stream = api.exec_start(made["Id"], socket=True)
        outputs = {1: b"", 2: b""}
        try:
            stream._sock.sendall(stdin)
            stream._sock.shutdown(socket.SHUT_WR)
            for kind, chunk in frames_iter(stream, tty=False):
                outputs[kind] += chunk
        finally:
            # The response keeps the connection otherwise.
            stream._response.close()
            stream.close()
        return ExecResult(api.exec_inspect(made["Id"])["ExitCode"], outputs[1], outputs[2])
