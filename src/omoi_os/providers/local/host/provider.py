"""Sandboxes on this machine: bubblewrap, held by one supervisor each."""

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
from omoi_os.providers.local.host import bubblewrap, control, files, folder
from omoi_os.providers.local.host import creation as making
from omoi_os.providers.local.host import records as facts
from omoi_os.providers.local.host.launcher import Launcher
from omoi_os.providers.local.host.machine import Machine
from omoi_os.providers.local.supervisor import disk, processes

_FOLDER = os.O_RDONLY | os.O_DIRECTORY | os.O_NOFOLLOW | os.O_CLOEXEC


#: How long a supervisor that has hung up without a word may take to be gone.
DYING_MS = 2000


class LocalProvider:
    """Makes sandboxes in folders below `root`. A sandbox's reference is its id."""

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
        """Where it makes sandboxes. Looked up when it is needed: that gives a new data folder its identity."""
        return self._find_site()

    def check(self) -> None:
        """Raise `SetupError`, with the remedy, if this machine cannot make sandboxes; else be ready to make one."""
        bubblewrap.check()
        making.end_orphans(self._root)
        self._launcher.warm_up()

    async def create(self, spec: SandboxSpec) -> SandboxRef:
        """Make it and start its first process. An id that exists already raises `ProviderError`;
        a create that fails or is cancelled leaves nothing behind."""
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
        """Run a command to its end; what it leaves running is killed then. A non-zero exit is a result, a signal
        is 128 more than its number, a program that cannot be started is 126 or 127.

        Once the first process has ended, /tmp is empty. The environment is that of `create` for ten minutes more;
        after that, or when the supervisor was killed, it is `making.BARE_ENVIRONMENT`.
        """
        place = self._existing(ref)
        if await asyncio.to_thread(facts.is_foreign, place):
            await asyncio.to_thread(self._revive, place)
        try:
            try:
                return await control.run(place, argv, stdin=stdin, cwd=cwd, timeout=timeout)
            except control.NotHeldError:
                await asyncio.to_thread(self._revive, place)
            return await control.run(place, argv, stdin=stdin, cwd=cwd, timeout=timeout)
        except (ProviderError, control.NotHeldError) as error:
            self._existing(ref)
            if isinstance(error, ProviderError):
                raise
            raise ProviderUnavailable(f"Nothing can be run in sandbox {ref} now: {error}.") from error

    async def write_file(self, ref: SandboxRef, path: str, content: bytes) -> None:
        """Write a file inside, making its parents. The path is absolute and under the home or the workspace."""
        await asyncio.to_thread(files.write, self._opener(ref), path, content)

    async def read_file(self, ref: SandboxRef, path: str) -> bytes:
        """Read a file from inside, also after the sandbox ended. Raises `FileNotFoundError`."""
        return await asyncio.to_thread(files.read, self._opener(ref), path)

    async def read_output(self, ref: SandboxRef) -> bytes:
        """What the first process printed, its beginning and its end, once the sandbox has ended."""
        log = self._existing(ref) / "output.log"
        return await asyncio.to_thread(log.read_bytes) if log.exists() else b""

    async def inspect(self, ref: SandboxRef, *, wait: timedelta | None = None) -> SandboxReport:
        """Alive, or how it ended. With `wait`, answer when it ends, or as alive after that long."""
        place = self._existing(ref)
        ended = wait is not None and not (place / "exit.json").exists() and await _wait_for_end(place, wait)
        return await asyncio.to_thread(_report, place, patience=DYING_MS if ended else 0)

    async def list(self, *, owner: str) -> AsyncIterator[ListedSandbox]:
        """Yield every sandbox of this owner that was not destroyed, alive or ended."""
        for name in await asyncio.to_thread(self._owned, owner):
            yield ListedSandbox(SandboxRef(name), id=name)

    async def destroy(self, ref: SandboxRef) -> None:
        """End it and remove every trace. Destroying what is already gone succeeds."""
        await asyncio.to_thread(making.remove, folder.path_of(self._root, ref), machine=self._machine)

    async def keep(self, ref: SandboxRef) -> int | None:
        """End every process of the sandbox; its files stay. Returns how much of this machine's disk they take."""
        place = self._existing(ref)
        await asyncio.to_thread(making.end, place)
        return await asyncio.to_thread(folder.size_of, place)

    def _existing(self, ref: str) -> Path:
        place = folder.path_of(self._root, ref)
        if not place.is_dir():
            raise SandboxGone(f"Sandbox {ref} no longer exists.")
        return place

    def _make(self, place: Path, spec: SandboxSpec) -> None:
        making.check(spec)
        making.make(place, spec, machine=self._machine, starter=self._launcher)

    def _revive(self, place: Path) -> None:
        making.revive(place, machine=self._machine, starter=self._launcher)

    async def _undo(self, work: "asyncio.Future[None]", place: Path) -> None:
        """Let a cancelled creation come to its end, which takes no longer than a start, and take it back."""
        await asyncio.wait([work])
        if work.exception() is None:
            await asyncio.to_thread(making.remove, place, machine=self._machine)

    def _opener(self, ref: str) -> Callable[[str], int]:
        """Opens the home or the workspace. Only the supervisor can reach into an image."""
        place = self._existing(ref)

        def open_folder(name: str) -> int:
            if not (place / disk.IMAGE).exists():
                return os.open(place / disk.FILES / name, _FOLDER)
            try:
                return control.open_folder(place, name)
            except control.NotHeldError:
                self._revive(place)
            try:
                return control.open_folder(place, name)
            except control.NotHeldError as error:
                raise ProviderUnavailable(f"The files of sandbox {ref} cannot be reached now: {error}.") from error

        return open_folder

    def _owned(self, owner: str) -> Sequence[str]:
        """A folder without a description, or with a damaged one, belongs to whoever asks: nobody else removes it."""
        found = []
        for place in folder.sandboxes_below(self._root):
            try:
                spec = facts.read_spec(place)
            except SandboxGone:
                continue
            except SandboxDamaged:
                spec = None
            if spec is None or spec["owner"] == owner:
                found.append(place.name)
        return found


def _report(place: Path, *, patience: int) -> SandboxReport:
    """The state of a sandbox whose supervisor, if it left no word, may take so many milliseconds to be gone."""
    keeper = making.open_supervisor(place)
    held = keeper is not None
    foreign = held and facts.is_foreign(place)
    try:
        end = facts.read_end(place)
        if keeper is not None and end is None and processes.has_ended(keeper, wait_ms=patience):
            held = False
            end = facts.read_end(place)
    except SandboxDamaged as damage:
        return SandboxReport(False, EndReason.UNKNOWN, detail=f"the sandbox ended, but {damage}")
    finally:
        if keeper is not None:
            os.close(keeper)
    if end is not None:
        names = ("exit_code", "signal", "memory_bytes", "cpu_seconds", "disk_bytes", "pids")
        figures: dict[str, Any] = {name: end.get(name) for name in names}
        return SandboxReport(False, EndReason(end["reason"]), **figures)
    if foreign:
        # Its files can still be reached: another supervisor takes its place for that.
        return SandboxReport(False, EndReason.UNKNOWN, detail="the sandbox was held by an incompatible earlier release")
    if not held and not folder.is_locked(place):
        return SandboxReport(False, EndReason.UNKNOWN, detail=_damage(place))
    memory, seconds, pids, used = control.usage(place)
    return SandboxReport(True, memory_bytes=memory, cpu_seconds=seconds, disk_bytes=used, pids=pids)


def _damage(place: Path) -> str:
    """What is wrong with the documents of a sandbox whose supervisor is gone, as a sentence; empty if nothing is."""
    try:
        facts.read_spec(place)
        facts.read_state(place)
    except SandboxDamaged as damage:
        return f"the sandbox ended, and {damage}"
    return ""


async def _wait_for_end(place: Path, wait: timedelta) -> bool:
    """Whether the supervisor told of the end, or ended itself, within that time."""
    loop = asyncio.get_running_loop()
    ended = asyncio.Event()
    with contextlib.suppress(control.NotHeldError, TimeoutError), control.waiting(place) as connection:
        loop.add_reader(connection, ended.set)
        try:
            async with asyncio.timeout(wait.total_seconds()):
                await ended.wait()
        finally:
            loop.remove_reader(connection)
    return ended.is_set()
