"""Creating a sandbox at Daytona, starting its first process, and undoing a creation that failed."""

import asyncio
import contextlib
import logging
from collections.abc import Sequence
from dataclasses import dataclass

from daytona import AsyncDaytona, AsyncSandbox, CreateSandboxFromImageParams, DaytonaError, SessionExecuteRequest

from omoi_os.errors import ProviderError, ProviderUnavailable
from omoi_os.providers.base import Runtime, SandboxSpec
from omoi_os.providers.daytona import faults, guest_calls, installation, lookup
from omoi_os.providers.daytona import reports as endings
from omoi_os.providers.daytona.faults import called
from omoi_os.providers.daytona.params import GIBIBYTE, LABEL_CREATION, Params

log = logging.getLogger(__name__)

#: How long the build of an image may take.
BUILD_SECONDS = 1800.0

#: With these the API refuses, and has created nothing.
_REFUSALS = (401, 403, 409)


class Refused(ProviderError):
    """Daytona refused and created nothing."""


class Unanswered(ProviderUnavailable):
    """Daytona did not answer, and there is no sandbox."""


@dataclass(frozen=True, slots=True)
class Waits:
    """How long to wait for a creation."""

    #: How long a sandbox may take to start.
    start_seconds: float = lookup.START_SECONDS
    #: The pauses between the searches for a sandbox whose creation was not answered.
    looks: Sequence[float] = (0.0, 0.5, 1.0, 2.0, 4.0)


async def make(client: AsyncDaytona, params: Params, *, creation: str, waits: Waits) -> AsyncSandbox:
    """Return a started sandbox. If its creation was not answered, search for the sandbox and adopt it."""
    name = str(params.name)
    try:
        return await _asked(client, params, waits.start_seconds)
    except DaytonaError as error:
        ours = faults.as_ours(error, name)
        if error.status_code in _REFUSALS:
            raise Refused(f"Sandbox {name} already exists." if error.status_code == 409 else str(ours)) from error
        if not faults.is_passing(error):
            raise ours from error
        sandbox = await look_for(client, name, creation, looks=waits.looks)
        if sandbox is None:
            raise Unanswered(str(ours)) from error
    log.warning("the creation of sandbox %s was not answered, but it exists and is used", name)
    async with called(name, lookup.START_SECONDS):
        await sandbox.wait_for_sandbox_start(timeout=0)
    return sandbox


async def _asked(client: AsyncDaytona, params: Params, seconds: float) -> AsyncSandbox:
    def show(line: str) -> None:
        log.info("%s: %s", params.name, line[:200])

    if isinstance(params, CreateSandboxFromImageParams):
        return await client.create(params, timeout=max(seconds, BUILD_SECONDS), on_snapshot_create_logs=show)
    return await client.create(params, timeout=seconds)


async def begin(sandbox: AsyncSandbox, spec: SandboxSpec, runtime: Runtime, *, package_index: str | None) -> None:
    """Have the guest start the first process."""
    async with called(spec.id, installation.INSTALL_SECONDS):
        await _prepare(sandbox, runtime, package_index)
    start = guest_calls.start_document(spec, memory_bytes=int(sandbox.memory * GIBIBYTE))
    word = guest_calls.document({"start": guest_calls.START, "end": guest_calls.END})
    request = SessionExecuteRequest(command=guest_calls.command(runtime.python, "first", word), run_async=True)
    async with called(spec.id):
        await sandbox.process.create_session(endings.SESSION)
        await sandbox.fs.upload_file(start, guest_calls.START)
        await sandbox.process.execute_session_command(endings.SESSION, request)


async def _prepare(sandbox: AsyncSandbox, runtime: Runtime, package_index: str | None) -> None:
    """Install the worker if the sandbox does not have it."""
    needed = {"places": guest_calls.PLACES, "needed": [f"{runtime.source}/omoi_os"]}
    try:
        ready = not (await guest_calls.ask(sandbox, runtime.python, "check", needed)).get("missing")
    except guest_calls.GuestFailed:
        ready = False
    if not ready:
        await installation.install(sandbox, runtime, package_index=package_index)
        await guest_calls.ask(sandbox, runtime.python, "check", needed)


async def undo(client: AsyncDaytona, name: str, creation: str, *, looks: Sequence[float]) -> None:
    """Remove the sandbox of a failed or cancelled creation, also if it appears a moment later."""
    if await look_for(client, name, creation, looks=looks) is None:
        return
    try:
        await lookup.destroy(client, name)
    except ProviderError as error:
        log.warning("sandbox %s of a failed creation is left to the reconciler: %s", name, error)


async def look_for(client: AsyncDaytona, name: str, creation: str, *, looks: Sequence[float]) -> AsyncSandbox | None:
    """Return the sandbox of exactly this creation, if there is one now or soon."""
    for pause in looks:
        await asyncio.sleep(pause)
        with contextlib.suppress(ProviderError):
            sandbox = await lookup.found(client, name)
            return sandbox if sandbox.labels.get(LABEL_CREATION) == creation else None
    return None
