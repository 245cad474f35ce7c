"""Making a sandbox at Daytona and starting its first process; and taking back what was half made."""

import asyncio
import contextlib
import logging
from collections.abc import Sequence
from dataclasses import dataclass

from daytona import AsyncDaytona, AsyncSandbox, CreateSandboxFromImageParams, DaytonaError, SessionExecuteRequest

from omoi_os.errors import ProviderError, ProviderUnavailable
from omoi_os.providers.base import Runtime, SandboxSpec
from omoi_os.providers.daytona import faults, inside, installation, lookup
from omoi_os.providers.daytona import reports as endings
from omoi_os.providers.daytona.faults import called
from omoi_os.providers.daytona.params import GIBIBYTE, LABEL_CREATION, Params

log = logging.getLogger(__name__)

#: How long an image may take to be built.
BUILD_SECONDS = 1800.0

#: With these the API says no, and has made nothing.
_REFUSALS = (401, 403, 409)


class Refused(ProviderError):
    """Daytona said no and made nothing."""


class Unanswered(ProviderUnavailable):
    """Nobody answered, and there is no sandbox."""


@dataclass(frozen=True, slots=True)
class Waits:
    """How long a creation is waited for."""

    #: How long a sandbox may take to start.
    start_seconds: float = lookup.START_SECONDS
    #: After which pauses a sandbox is looked for whose creation got no answer.
    looks: Sequence[float] = (0.0, 0.5, 1.0, 2.0, 4.0)


async def make(client: AsyncDaytona, params: Params, *, creation: str, waits: Waits) -> AsyncSandbox:
    """A started sandbox. One whose creation got no answer is looked for and adopted."""
    name = str(params.name)
    try:
        return await _asked(client, params, waits.start_seconds)
    except DaytonaError as error:
        ours = faults.as_ours(error, name)
        if error.status_code in _REFUSALS:
            raise Refused(f"Sandbox {name} exists already." if error.status_code == 409 else str(ours)) from error
        if not faults.is_passing(error):
            raise ours from error
        sandbox = await look_for(client, name, creation, looks=waits.looks)
        if sandbox is None:
            raise Unanswered(str(ours)) from error
    log.warning("The creation of sandbox %s got no answer, but it was made: it is used.", name)
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
    """Have the holder inside start the first process."""
    async with called(spec.id, installation.INSTALL_SECONDS):
        await _prepare(sandbox, runtime, package_index)
    start = inside.start_document(spec, memory_bytes=int(sandbox.memory * GIBIBYTE))
    word = inside.document({"start": inside.START, "end": inside.END})
    request = SessionExecuteRequest(command=inside.command(runtime.python, "first", word), run_async=True)
    async with called(spec.id):
        await sandbox.process.create_session(endings.SESSION)
        await sandbox.fs.upload_file(start, inside.START)
        await sandbox.process.execute_session_command(endings.SESSION, request)


async def _prepare(sandbox: AsyncSandbox, runtime: Runtime, package_index: str | None) -> None:
    """See that our program is inside; where it is not, install it."""
    needed = {"places": inside.PLACES, "needed": [f"{runtime.source}/omoi_os"]}
    try:
        ready = not (await inside.ask(sandbox, runtime.python, "check", needed)).get("missing")
    except inside.HolderFailed:
        ready = False
    if not ready:
        await installation.install(sandbox, runtime, package_index=package_index)
        await inside.ask(sandbox, runtime.python, "check", needed)


async def undo(client: AsyncDaytona, name: str, creation: str, *, looks: Sequence[float]) -> None:
    """Remove what a failed or cancelled creation has made, also what it makes a moment later."""
    if await look_for(client, name, creation, looks=looks) is None:
        return
    try:
        await lookup.destroy(client, name)
    except ProviderError as error:
        log.warning("Sandbox %s of a failed creation is left to the reconciler: %s", name, error)


async def look_for(client: AsyncDaytona, name: str, creation: str, *, looks: Sequence[float]) -> AsyncSandbox | None:
    """The sandbox that this very creation has made, if there is one now or soon."""
    for pause in looks:
        await asyncio.sleep(pause)
        with contextlib.suppress(ProviderError):
            sandbox = await lookup.found(client, name)
            return sandbox if sandbox.labels.get(LABEL_CREATION) == creation else None
    return None
