"""Sandboxes on this machine: bubblewrap, with one supervisor for each."""

import asyncio
import contextlib
import os
import sys
from collections.abc import AsyncIterator, Callable, Sequence
from datetime import timedelta
from functools import cached_property
from pathlib import Path
from typing import Any

import omoi_os
from omoi_os.errors import ProviderError, ProviderUnavailable, SandboxDamaged, SandboxGone
from omoi_os.providers.base import (
    EndReason,
    ExecResult,
    ListedSandbox,
    Runtime,
    SandboxRef,
    SandboxReport,
    SandboxSpec,
)
from omoi_os.providers.local.host import bubblewrap, control, creation, files, folder, records
from omoi_os.providers.local.host.launcher import Launcher
from omoi_os.providers.local.host.machine import Machine
from omoi_os.providers.local.supervisor import disk, processes

_FOLDER = os.O_RDONLY | os.O_DIRECTORY | os.O_NOFOLLOW | os.O_CLOEXEC


#: How long a supervisor that closed its connection without a report may take to end.
DYING_MS = 2000


class LocalProvider:
    """Creates sandboxes in folders below `root`. The reference of a sandbox is its folder's name, which is its id."""

    name = "local"
    has_gateway_socket = True

    def __init__(self, root: Path, *, site: Callable[[], str] = lambda: "local") -> None:
        self._root = root
        self._machine = Machine()
        self._launcher = Launcher()
        self._find_site = site
        self.runtime = Runtime(sys.executable, str(Path(omoi_os.__file__).parent.parent))
        self.limits = self._machine.limits
        self.limits_warning = self._machine.limits_warning
        # Elsewhere an overlay cannot rename a folder of the checkout.
        self.has_checkouts = self._machine.has_images

    @cached_property
    def site(self) -> str:
        """Where it creates sandboxes. Looked up on first use, because that gives a new data folder its identity."""
        return self._find_site()

    def check(self) -> None:
        """Prepare for the first sandbox. Raises `SetupError`, with the remedy, if this machine cannot create any."""
        bubblewrap.check()
        creation.end_orphans(self._root)
        self._launcher.warm_up()

    async def create(self, spec: SandboxSpec) -> SandboxRef:
        """Create it and start its first process. Raises `ProviderError` if the id already exists."""
        place = folder.path_of(self._root, spec.id)
        work = asyncio.ensure_future(asyncio.to_thread(self._make, place, spec))
        try:
            await asyncio.shield(work)
        except asyncio.CancelledError:
            await asyncio.shield(self._undo(work, place))
            raise
        return SandboxRef(spec.id)

    async def exec(
        self, ref: SandboxRef, argv: Sequence[str], *, stdin: bytes = b"", cwd: str | None = None, timeout: timedelta
    ) -> ExecResult:
        """Run a command to its end. A program that cannot be started is reported as exit code 126 or 127.

        Once the first process has ended, /tmp is empty. The environment is that of `create` for another ten minutes;
        after that, or if the supervisor was killed, it is `creation.BARE_ENVIRONMENT`.
        """
        place = self._existing(ref)
        if await asyncio.to_thread(records.is_foreign, place):
            await asyncio.to_thread(self._revive, place)
        try:
            try:
                return await control.run(place, argv, stdin=stdin, cwd=cwd, timeout=timeout)
            except control.NoSupervisorError:
                await asyncio.to_thread(self._revive, place)
            return await control.run(place, argv, stdin=stdin, cwd=cwd, timeout=timeout)
        except (ProviderError, control.NoSupervisorError) as error:
            self._existing(ref)
            if isinstance(error, ProviderError):
                raise
            raise ProviderUnavailable(f"Nothing can be run in sandbox {ref} now: {error}.") from error

    async def write_file(self, ref: SandboxRef, path: str, content: bytes) -> None:
        """Write a file inside, creating its parents. The path is absolute and under the home or the workspace."""
        await asyncio.to_thread(files.write, self._opener(ref), path, content)

    async def read_file(self, ref: SandboxRef, path: str) -> bytes:
        """Read a file from inside, also after the sandbox ended. Raises `FileNotFoundError`."""
        return await asyncio.to_thread(files.read, self._opener(ref), path)

    async def read_output(self, ref: SandboxRef) -> bytes:
        """Return the beginning and the end of what the first process printed, once the sandbox has ended."""
        log = self._existing(ref) / "output.log"
        return await asyncio.to_thread(log.read_bytes) if log.exists() else b""

    async def inspect(self, ref: SandboxRef, *, wait: timedelta | None = None) -> SandboxReport:
        """Report whether it is alive, or how it ended; with `wait`, as soon as it ends or after that long."""
        place = self._existing(ref)
        ended = wait is not None and not (place / "exit.json").exists() and await _wait_for_end(place, wait)
        return await asyncio.to_thread(_report, place, patience=DYING_MS if ended else 0)

    async def list(self, *, owner: str) -> AsyncIterator[ListedSandbox]:
        """Yield every sandbox of this owner that was not destroyed, alive or ended."""
        for name in await asyncio.to_thread(self._owned, owner):
            yield ListedSandbox(SandboxRef(name), id=name)

    async def destroy(self, ref: SandboxRef) -> None:
        """End it and remove every trace. Destroying a sandbox that no longer exists succeeds."""
        await asyncio.to_thread(creation.remove, folder.path_of(self._root, ref), machine=self._machine)

    async def keep(self, ref: SandboxRef) -> int | None:
        """End every process of the sandbox and keep its files. Return their size on this machine's disk."""
        place = self._existing(ref)
        await asyncio.to_thread(creation.end, place)
        return await asyncio.to_thread(folder.size_of, place)

    def _existing(self, ref: str) -> Path:
        place = folder.path_of(self._root, ref)
        if not place.is_dir():
            raise SandboxGone(f"Sandbox {ref} no longer exists.")
        return place

    def _make(self, place: Path, spec: SandboxSpec) -> None:
        creation.check(spec)
        creation.make(place, spec, machine=self._machine, starter=self._launcher)

    def _revive(self, place: Path) -> None:
        creation.revive(place, machine=self._machine, starter=self._launcher)

    async def _undo(self, work: "asyncio.Future[None]", place: Path) -> None:
        """Wait for the end of a cancelled creation, which takes no longer than a start, and undo it."""
        await asyncio.wait([work])
        if work.exception() is None:
            await asyncio.to_thread(creation.remove, place, machine=self._machine)

    def _opener(self, ref: str) -> Callable[[str], int]:
        """Return a function that opens the home or the workspace. Only the supervisor can open them in an image."""
        place = self._existing(ref)

        def open_folder(name: str) -> int:
            if not (place / disk.IMAGE).exists():
                return os.open(place / disk.FILES / name, _FOLDER)
            try:
                return control.open_folder(place, name)
            except control.NoSupervisorError:
                self._revive(place)
            try:
                return control.open_folder(place, name)
            except control.NoSupervisorError as error:
                raise ProviderUnavailable(f"The files of sandbox {ref} cannot be reached now: {error}.") from error

        return open_folder

    def _owned(self, owner: str) -> Sequence[str]:
        """Return the names of an owner's sandboxes.

        One without a readable description belongs to every owner: otherwise nothing would remove it.
        """
        found = []
        for place in folder.sandboxes_below(self._root):
            try:
                spec = records.read_spec(place)
            except SandboxGone:
                continue
            except SandboxDamaged:
                spec = None
            if spec is None or spec["owner"] == owner:
                found.append(place.name)
        return found


def _report(place: Path, *, patience: int) -> SandboxReport:
    """Report on a sandbox whose supervisor, if it left no report, may take so many milliseconds to end."""
    supervisor = creation.open_supervisor(place)
    supervised = supervisor is not None
    foreign = supervised and records.is_foreign(place)
    try:
        end = records.read_end(place)
        if supervisor is not None and end is None and processes.has_ended(supervisor, wait_ms=patience):
            supervised = False
            end = records.read_end(place)
    except SandboxDamaged as damage:
        return SandboxReport(False, EndReason.UNKNOWN, detail=f"the sandbox ended, but {damage}")
    finally:
        if supervisor is not None:
            os.close(supervisor)
    if end is not None:
        names = ("exit_code", "signal", "memory_bytes", "cpu_seconds", "disk_bytes", "pids")
        figures: dict[str, Any] = {name: end.get(name) for name in names}
        return SandboxReport(False, EndReason(end["reason"]), **figures)
    if foreign:
        # Its files can still be reached: for that, another supervisor replaces it.
        return SandboxReport(False, EndReason.UNKNOWN, detail="its supervisor is of an incompatible earlier release")
    if not supervised and not folder.is_locked(place):
        return SandboxReport(False, EndReason.UNKNOWN, detail=_damage(place))
    memory, seconds, pids, used = control.usage(place)
    return SandboxReport(True, memory_bytes=memory, cpu_seconds=seconds, disk_bytes=used, pids=pids)


def _damage(place: Path) -> str:
    """Return a sentence about damaged documents of a sandbox without a supervisor; empty if they are complete."""
    try:
        records.read_spec(place)
        records.read_state(place)
    except SandboxDamaged as damage:
        return f"the sandbox ended, and {damage}"
    return ""


async def _wait_for_end(place: Path, wait: timedelta) -> bool:
    """Return whether the supervisor reported the end, or ended itself, within that time."""
    loop = asyncio.get_running_loop()
    ended = asyncio.Event()
    with contextlib.suppress(control.NoSupervisorError, TimeoutError), control.waiting(place) as connection:
        loop.add_reader(connection, ended.set)
        try:
            async with asyncio.timeout(wait.total_seconds()):
                await ended.wait()
        finally:
            loop.remove_reader(connection)
    return ended.is_set()
