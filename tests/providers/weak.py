"""A provider without isolation and limits: the positive control of the isolation tests."""

import asyncio
import contextlib
import os
import shutil
import signal
import sys
from collections.abc import AsyncIterator, Sequence
from dataclasses import replace
from datetime import timedelta
from pathlib import Path

import omoi_os
from omoi_os.errors import ProviderError, SandboxGone
from omoi_os.protocol import paths
from omoi_os.providers.base import (
    EndReason,
    ExecResult,
    Limits,
    ListedSandbox,
    Runtime,
    SandboxProvider,
    SandboxRef,
    SandboxReport,
    SandboxSpec,
)
from omoi_os.providers.conformance import Bench, Pace, Targets, host
from omoi_os.providers.conformance.bench import SMALL


def is_bare(bench: Bench) -> bool:
    """Return whether attempts there affect this machine itself."""
    return bench.provider.name.startswith("weak")


@contextlib.asynccontextmanager
async def bare_bench(provider: SandboxProvider) -> AsyncIterator[Bench]:
    """The bench of a weak provider: things that the host can reach are in the place of those that it perhaps cannot,
    and limits are so low that they are passed on a busy machine too."""
    with host.listener() as port:
        targets = Targets(metadata=("127.0.0.1", port), name="localhost")
        small = replace(SMALL, cpus=0.05)
        async with Bench(
            lambda: provider, small=small, pace=Pace(notice=timedelta(seconds=1)), targets=targets
        ) as made:
            yield made


class WeakProvider:
    """Runs commands as plain processes of the host, in folders below `root`, with all that we ourselves have."""

    name = "weak"
    site = "here"
    runtime = Runtime(python=sys.executable, source=str(Path(omoi_os.__file__).parent.parent))
    has_gateway_socket = False
    limits = Limits(*["not limited"] * 4)
    limits_warning: str | None = None

    def __init__(self, root: Path) -> None:
        self._root = root
        self._first: dict[str, asyncio.subprocess.Process] = {}
        self._specs: dict[str, SandboxSpec] = {}

    async def create(self, spec: SandboxSpec) -> SandboxRef:
        ref = SandboxRef(spec.id)
        for name in ("workspace", "home"):
            (self._root / ref / name).mkdir(parents=True)
        self._specs[ref] = spec
        self._first[ref] = await self._start(ref, spec.argv, None, asyncio.subprocess.DEVNULL)
        return ref

    async def exec(
        self, ref: SandboxRef, argv: Sequence[str], *, stdin: bytes = b"", cwd: str | None = None, timeout: timedelta
    ) -> ExecResult:
        self._existing(ref)
        process = await self._start(ref, argv, cwd, asyncio.subprocess.PIPE)
        async with asyncio.timeout(timeout.total_seconds()):
            stdout, stderr = await process.communicate(stdin)
        return ExecResult(_code(process), stdout, stderr)

    async def write_file(self, ref: SandboxRef, path: str, content: bytes) -> None:
        target = self._path(ref, path)
        target.parent.mkdir(parents=True, exist_ok=True)
        target.write_bytes(content)

    async def read_file(self, ref: SandboxRef, path: str) -> bytes:
        return self._path(ref, path).read_bytes()

    async def inspect(self, ref: SandboxRef, *, wait: timedelta | None = None) -> SandboxReport:
        self._existing(ref)
        process = self._first[ref]
        try:
            async with asyncio.timeout((wait or timedelta()).total_seconds()):
                await process.wait()
        except TimeoutError:
            return SandboxReport(alive=True)
        return SandboxReport(False, EndReason.EXITED, _code(process))

    async def list(self, *, owner: str) -> AsyncIterator[ListedSandbox]:
        for ref, spec in list(self._specs.items()):
            if spec.owner == owner:
                yield ListedSandbox(SandboxRef(ref), id=spec.id)

    async def destroy(self, ref: SandboxRef) -> None:
        if self._specs.pop(ref, None) is not None:
            process = self._first.pop(ref)
            with contextlib.suppress(ProcessLookupError):
                os.killpg(process.pid, signal.SIGKILL)
            await process.wait()
            shutil.rmtree(self._root / ref)

    async def _start(self, ref: str, argv: Sequence[str], cwd: str | None, stream: int) -> asyncio.subprocess.Process:
        home = self._root / ref / "home"
        return await asyncio.create_subprocess_exec(
            *argv,
            cwd=self._path(ref, cwd) if cwd else self._root / ref / "workspace",
            env={**os.environ, **self._specs[ref].env, "HOME": str(home)},
            stdin=stream,
            stdout=stream,
            stderr=stream,
            close_fds=False,
            start_new_session=True,
        )

    def _existing(self, ref: str) -> None:
        if ref not in self._specs:
            raise SandboxGone(f"{ref} is gone")

    def _path(self, ref: str, path: str) -> Path:
        self._existing(ref)
        for inside, name in ((paths.WORKSPACE, "workspace"), (paths.HOME, "home")):
            if path == inside or path.startswith(f"{inside}/"):
                return self._root / ref / name / path[len(inside) + 1 :]
        raise ProviderError(f"{path} is neither home nor workspace")


def _code(process: asyncio.subprocess.Process) -> int:
    code = process.returncode or 0
    return code if code >= 0 else 128 - code
