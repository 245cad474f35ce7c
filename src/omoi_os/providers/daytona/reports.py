"""Whether a sandbox is alive, or how it ended."""

import asyncio
import contextlib
import time
from collections.abc import Mapping
from typing import Any

from daytona import AsyncSandbox, DaytonaError, DaytonaNotFoundError

from omoi_os.errors import ProviderError
from omoi_os.providers.base import EndReason, SandboxReport
from omoi_os.providers.daytona import files, guest_calls
from omoi_os.providers.daytona.lookup import ASLEEP, BROKEN, state_of
from omoi_os.providers.daytona.params import LABEL_ENDS

#: The session in which the first process runs.
SESSION = "omoi-first"

_MAX_BYTES = 64 * 1024
#: A silent log stream is opened again after this long: a proxy may have dropped it.
_FOLLOW_SECONDS = 30.0
_PAUSE_SECONDS = 1.0
_NUMBERS = ("memory_bytes", "cpu_seconds", "disk_bytes", "pids")


async def report(sandbox: AsyncSandbox) -> SandboxReport:
    """Report what Daytona and the guest know about the first process."""
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
        # Sessions end when a sandbox is stopped. If it has no start document either, it is still being created.
        begun = await files.exists(sandbox, guest_calls.START)
        return await _ended(sandbox, None) if begun else SandboxReport(True)
    commands = session.commands or []
    if not commands or commands[0].exit_code is None:
        return SandboxReport(True)
    return await _ended(sandbox, commands[0].exit_code)


async def follow(sandbox: AsyncSandbox, seconds: float) -> None:
    """Wait for the end of the first process, at most this long, by its log stream; without one, only for a moment."""
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
    """Ignore output: only the end of the stream matters."""


async def usage(sandbox: AsyncSandbox, python: str) -> SandboxReport:
    """Report that it is alive and what it uses, if that can be found out."""
    try:
        document = await guest_calls.ask(sandbox, python, "usage", {"places": guest_calls.PLACES})
    except (DaytonaError, ProviderError):
        document = {}
    return SandboxReport(True, **_numbers(document))


async def _ended(sandbox: AsyncSandbox, exit_code: int | None) -> SandboxReport:
    try:
        document = guest_calls.answer(
            (await files.read(sandbox, guest_calls.END, limit=_MAX_BYTES)).decode(errors="replace"), sandbox.name
        )
    except (FileNotFoundError, ProviderError):
        # The guest itself was killed: only the exit code of the shell is left.
        if exit_code is not None and exit_code > 128:
            return SandboxReport(False, EndReason.SIGNALLED, signal=exit_code - 128)
        return SandboxReport(False, EndReason.UNKNOWN, exit_code)
    reason = EndReason(document["reason"]) if document.get("reason") in list(EndReason) else EndReason.UNKNOWN
    code, number = (
        document.get(key) if isinstance(document.get(key), int) else None for key in ("exit_code", "signal")
    )
    return SandboxReport(False, reason, code, number, **_numbers(document))


def _numbers(document: Mapping[str, Any]) -> dict[str, Any]:
    return {name: document[name] for name in _NUMBERS if isinstance(document.get(name), int | float)}
