"""Sandboxes on this machine: bubblewrap, held by one supervisor each."""

import asyncio
import os
from collections.abc import AsyncIterator, Sequence
from datetime import timedelta
from pathlib import Path

from omoi_os.errors import ProviderError, SandboxGone
from omoi_os.providers.base import EndReason, ExecResult, SandboxRef, SandboxReport, SandboxSpec
from omoi_os.providers.local import bubblewrap, cgroups, control, files, folder, kernel, launcher, processes, profile

#: How long a supervisor may take to end its sandbox before it is killed, which ends it too.
STOP_MS = 8000


class LocalProvider:
    """Makes sandboxes in folders below `root`. A sandbox's reference is its id."""

    name = "local"

    def __init__(self, root: Path) -> None:
        self._root = root
        self.limits_warning = cgroups.limits_warning(cgroups.detect())

    def check(self) -> None:
        """Raise `SetupError`, with the remedy, if this machine cannot make sandboxes."""
        bubblewrap.check()

    async def create(self, spec: SandboxSpec) -> SandboxRef:
        """Make it and start its first process. An id that exists already raises `ProviderError`;
        a create that fails or is cancelled leaves nothing behind."""
        making = asyncio.ensure_future(asyncio.to_thread(self._create, spec))
        try:
            await asyncio.shield(making)
        except asyncio.CancelledError:
            await asyncio.shield(self._undo(making, spec.id))
            raise
        return SandboxRef(spec.id)

    async def exec(
        self, ref: SandboxRef, argv: Sequence[str], *, stdin: bytes = b"", cwd: str | None = None, timeout: timedelta
    ) -> ExecResult:
        """Run a command to its end; what it leaves running is killed then. A non-zero exit is a result, a signal
        is 128 more than its number, a program that cannot be started is 126 or 127."""
        place = self._existing(ref)
        try:
            return await control.run(place, argv, stdin=stdin, cwd=cwd, timeout=timeout)
        except ProviderError:
            self._existing(ref)
            raise

    async def write_file(self, ref: SandboxRef, path: str, content: bytes) -> None:
        """Write a file inside, making its parents. The path is absolute and under the home or the workspace."""
        await asyncio.to_thread(files.write, self._existing(ref), path, content)

    async def read_file(self, ref: SandboxRef, path: str) -> bytes:
        """Read a file from inside, also after the sandbox ended. Raises `FileNotFoundError`."""
        return await asyncio.to_thread(files.read, self._existing(ref), path)

    async def read_output(self, ref: SandboxRef) -> bytes:
        """What the first process printed, its beginning and its end, once the sandbox has ended."""
        log = self._existing(ref) / "output.log"
        return await asyncio.to_thread(log.read_bytes) if log.exists() else b""

    async def inspect(self, ref: SandboxRef, *, wait: timedelta | None = None) -> SandboxReport:
        """Alive, or how it ended. With `wait`, answer when it ends, or as alive after that long."""
        place = self._existing(ref)
        if wait is not None and (keeper := self._open_keeper(place)) is not None:
            await _wait_for_end(keeper, wait)
        return await asyncio.to_thread(self._report, place)

    async def list(self, *, owner: str) -> AsyncIterator[SandboxRef]:
        """Every sandbox of this owner that was not destroyed, alive or ended."""
        for ref in await asyncio.to_thread(self._owned, owner):
            yield SandboxRef(ref)

    async def destroy(self, ref: SandboxRef) -> None:
        """End it and remove every trace. Destroying what is already gone succeeds."""
        await asyncio.to_thread(self._destroy, folder.path_of(self._root, ref))

    def _existing(self, ref: str) -> Path:
        place = folder.path_of(self._root, ref)
        if not place.is_dir():
            raise SandboxGone(f"Sandbox {ref} no longer exists.")
        return place

    def _create(self, spec: SandboxSpec) -> None:
        place = folder.path_of(self._root, spec.id)
        _check(spec)
        bwrap = bubblewrap.find()
        self._root.mkdir(mode=0o700, parents=True, exist_ok=True)
        try:
            place.mkdir(mode=0o700)
        except FileExistsError:
            raise ProviderError(f"Sandbox {spec.id} exists already.") from None
        try:
            with folder.locked(place) as lock:
                uid = self._furnish(place, spec)
                groups = launcher.groups_for(place)
                document = launcher.describe(
                    spec, place, host=profile.look_at_host(), bwrap=bwrap, groups=groups, uid=uid
                )
                launcher.start(place, document, lock=lock)
        except BaseException:
            self._destroy(place)
            raise

    def _furnish(self, place: Path, spec: SandboxSpec) -> int | None:
        """Make what the folder holds before the start; the sandbox's own uid, if it gets one."""
        folder.write_json(place, "spec.json", {"id": spec.id, "owner": spec.owner, "labels": dict(spec.labels)})
        for name, mode in (("home", 0o700), ("workspace", 0o755), ("etc", 0o755)):
            (place / name).mkdir(mode=mode)
        uid = folder.claim_uid(self._root, place) if launcher.is_root() else None
        for name, text in profile.generated_etc(profile.USER_UID if uid is None else uid).items():
            (place / "etc" / name).write_text(text)
            (place / "etc" / name).chmod(0o644)
        return uid

    async def _undo(self, making: "asyncio.Future[None]", ref: str) -> None:
        """Let a cancelled creation come to its end, which takes no longer than a start, and take it back."""
        await asyncio.wait([making])
        if making.exception() is None:
            await asyncio.to_thread(self._destroy, folder.path_of(self._root, ref))

    def _open_keeper(self, place: Path) -> int | None:
        """A descriptor of the living supervisor."""
        state = folder.read_json(place, "state.json")
        return processes.open_process(state["supervisor"]) if state else None

    def _report(self, place: Path) -> SandboxReport:
        keeper = self._open_keeper(place)
        if keeper is not None:
            os.close(keeper)
        end = folder.read_json(place, "exit.json")
        if end is not None:
            return SandboxReport(False, EndReason(end["reason"]), end["exit_code"], end["signal"])
        if keeper is None and not folder.is_locked(place):
            return SandboxReport(False, EndReason.UNKNOWN)
        memory, pids = cgroups.usage(launcher.groups_for(place))
        return SandboxReport(True, memory_bytes=memory, pids=pids)

    def _owned(self, owner: str) -> Sequence[str]:
        """A folder without a description was left by a start that was killed: it belongs to whoever asks."""
        found = []
        for place in sorted(self._root.iterdir()) if self._root.is_dir() else []:
            try:
                spec = folder.read_json(place, "spec.json")
            except SandboxGone:
                continue
            if spec is None or spec["owner"] == owner:
                found.append(place.name)
        return found

    def _destroy(self, place: Path) -> None:
        try:
            with folder.locked(place):
                self._end(place)
                groups = launcher.groups_for(place)
                if not cgroups.remove(groups):
                    raise ProviderError(f"The control groups of sandbox {place.name} could not be removed.")
                folder.remove(place)
        except SandboxGone:
            return

    def _end(self, place: Path) -> None:
        """End the supervisor, and with it the sandbox, and see that both are gone."""
        state = folder.read_json(place, "state.json") or {}
        control.stop(place)
        for part, patience in (("supervisor", STOP_MS), ("init", 0)):
            pidfd = processes.open_process(state[part]) if part in state else None
            if pidfd is None:
                continue
            try:
                if not processes.has_ended(pidfd, wait_ms=patience):
                    kernel.send_signal(pidfd, kernel.SIGKILL)
                    if not processes.has_ended(pidfd, wait_ms=STOP_MS):
                        raise ProviderError(f"Sandbox {place.name} does not end: its {part} cannot be killed.")
            finally:
                os.close(pidfd)


async def _wait_for_end(keeper: int, wait: timedelta) -> None:
    loop = asyncio.get_running_loop()
    ended = asyncio.Event()
    loop.add_reader(keeper, ended.set)
    try:
        async with asyncio.timeout(wait.total_seconds()):
            await ended.wait()
    except TimeoutError:
        return
    finally:
        loop.remove_reader(keeper)
        os.close(keeper)


def _check(spec: SandboxSpec) -> None:
    """Refuse what could not work, before anything is made."""
    if not spec.argv:
        raise ProviderError(f"Sandbox {spec.id} has no command to run.")
    if any("\0" in text for text in (*spec.argv, *spec.env, *spec.env.values())) or any("=" in key for key in spec.env):
        raise ProviderError(f"The command or environment of sandbox {spec.id} contains a zero byte or a bad name.")
    if spec.door is not None and not spec.door.is_dir():
        raise ProviderError(f"The door of sandbox {spec.id} is not a folder: {spec.door}.")
    if spec.door is not None and launcher.is_root() and not spec.door.stat().st_mode & 0o001:
        raise ProviderError(f"{spec.door} must be open to others (mode 0755); close the folder above it instead.")
