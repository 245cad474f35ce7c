"""Whether a sandbox lives, or how it ended."""

import asyncio
import contextlib
import time
from collections.abc import Mapping
from typing import Any

from daytona import AsyncSandbox, DaytonaError, DaytonaNotFoundError

from omoi_os.errors import ProviderError
from omoi_os.providers.base import EndReason, SandboxReport
from omoi_os.providers.daytona import files, inside
from omoi_os.providers.daytona.lookup import ASLEEP, BROKEN, state_of
from omoi_os.providers.daytona.params import LABEL_ENDS

#: The session in which the first process runs.
SESSION = "omoi-first"

_MAX_BYTES = 64 * 1024
#: A stream of logs that says nothing is asked again after this long: a proxy may have lost it.
_FOLLOW_SECONDS = 30.0
_PAUSE_SECONDS = 1.0
_NUMBERS = ("memory_bytes", "cpu_seconds", "disk_bytes", "pids")


async def report(sandbox: AsyncSandbox) -> SandboxReport:
    """What Daytona and the holder tell about the first process."""
    state = state_of(sandbox)
    if state in BROKEN:
        return SandboxReport(False, EndReason.UNKNOWN)
    if state in ASLEEP:
        over = time.time() >= float(sandbox.labels.get(LABEL_ENDS) or "inf")
        return SandboxReport(False, EndReason.LIFETIME if over else EndReason.UNKNOWN)
    if state != "started":
        return SandboxReport(True)
    try:
        session = await sandbox.process.get_session(SESSION)
    except DaytonaNotFoundError:
        # Sessions do not outlive a stop. Before the session there is no start document: it is still being made.
        begun = await files.exists(sandbox, inside.START)
        return await _ended(sandbox, None) if begun else SandboxReport(True)
    commands = session.commands or []
    if not commands or commands[0].exit_code is None:
        return SandboxReport(True)
    return await _ended(sandbox, commands[0].exit_code)


async def follow(sandbox: AsyncSandbox, seconds: float) -> None:
    """Wait for the end of the first process, no longer than this, by its stream of logs; where there is none,
    for a moment only: then it can only be asked again."""
    began = time.monotonic()
    with contextlib.suppress(TimeoutError, DaytonaError):
        async with asyncio.timeout(min(seconds, _FOLLOW_SECONDS)):
            commands = (await sandbox.process.get_session(SESSION)).commands or []
            for command in commands[:1]:
                await sandbox.process.get_session_command_logs_async(SESSION, command.id, _ignore, _ignore)
    pause = min(seconds, _PAUSE_SECONDS) - (time.monotonic() - began)
    if pause > 0 and (await report(sandbox)).alive:
        await asyncio.sleep(pause)


def _ignore(_: str) -> None:
    """The first process reports by itself; what it prints is of no use here."""


async def usage(sandbox: AsyncSandbox, python: str) -> SandboxReport:
    """Alive, with what it uses; nothing about that where the sandbox cannot tell."""
    try:
        said = await inside.ask(sandbox, python, "usage", {"places": inside.PLACES})
    except (DaytonaError, ProviderError):
        said = {}
    return SandboxReport(True, **_numbers(said))


async def _ended(sandbox: AsyncSandbox, exit_code: int | None) -> SandboxReport:
    try:
        said = inside.answer(
            (await files.read(sandbox, inside.END, limit=_MAX_BYTES)).decode(errors="replace"), sandbox.name
        )
    except (FileNotFoundError, ProviderError):
        # The holder itself was killed: only the shell's word is left.
        if exit_code is not None and exit_code > 128:
            return SandboxReport(False, EndReason.SIGNALLED, signal=exit_code - 128)
        return SandboxReport(False, EndReason.UNKNOWN, exit_code)
    reason = EndReason(said["reason"]) if said.get("reason") in list(EndReason) else EndReason.UNKNOWN
    code, number = (said.get(key) if isinstance(said.get(key), int) else None for key in ("exit_code", "signal"))
    return SandboxReport(False, reason, code, number, **_numbers(said))


def _numbers(said: Mapping[str, Any]) -> dict[str, Any]:
    return {name: said[name] for name in _NUMBERS if isinstance(said.get(name), int | float)}
