"""Making a sandbox at Daytona and starting its first process; and taking back what was half made."""

import asyncio
import contextlib
import logging

from daytona import AsyncDaytona, AsyncSandbox, CreateSandboxFromImageParams, DaytonaError, SessionExecuteRequest

from omoi_os.errors import ProviderError
from omoi_os.providers.base import Runtime, SandboxSpec
from omoi_os.providers.daytona import endings, faults, inside, installation, lookup
from omoi_os.providers.daytona.faults import called
from omoi_os.providers.daytona.params import GIBIBYTE, LABEL_CREATION, Params

log = logging.getLogger(__name__)

#: How long an image may take to be built.
BUILD_SECONDS = 1800.0

#: After which waits a sandbox is looked for whose creation got no answer.
_LOOKS = (0.0, 0.5, 1.0, 2.0, 4.0)


class Refused(ProviderError):
    """Daytona said no and made nothing."""


async def make(client: AsyncDaytona, params: Params, *, creation: str, seconds: float) -> AsyncSandbox:
    """A started sandbox. One whose creation got no answer is looked for and adopted."""
    name = str(params.name)
    try:
        return await _asked(client, params, seconds)
    except DaytonaError as error:
        ours = faults.as_ours(error, name)
        if error.status_code == 409:
            raise Refused(f"Sandbox {name} exists already.") from error
        if not faults.is_passing(error):
            raise ours from error
        sandbox = await look_for(client, name, creation)
        if sandbox is None:
            raise ours from error
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


async def undo(client: AsyncDaytona, name: str, creation: str) -> None:
    """Remove what a failed or cancelled creation has made, also what it makes a moment later."""
    if await look_for(client, name, creation) is None:
        return
    try:
        await lookup.destroy(client, name)
    except ProviderError as error:
        log.warning("Sandbox %s of a failed creation is left to the reconciler: %s", name, error)


async def look_for(client: AsyncDaytona, name: str, creation: str) -> AsyncSandbox | None:
    """The sandbox that this very creation has made, if there is one now or soon."""
    for pause in _LOOKS:
        await asyncio.sleep(pause)
        with contextlib.suppress(ProviderError):
            sandbox = await lookup.found(client, name)
            return sandbox if sandbox.labels.get(LABEL_CREATION) == creation else None
    return None
