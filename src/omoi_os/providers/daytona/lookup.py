"""Finding a sandbox at Daytona by its name, starting it again, and destroying it."""

import asyncio
import time

from daytona import AsyncDaytona, AsyncSandbox, DaytonaError

from omoi_os.errors import ProviderError, ProviderUnavailable, SandboxGone
from omoi_os.providers.daytona.faults import CALL_SECONDS, called
from omoi_os.providers.daytona.params import LABEL_ID

GONE = ("destroyed", "destroying")
ASLEEP = ("stopped", "stopping", "archived", "archiving", "paused", "pausing")
BROKEN = ("error", "build_failed")

#: How long a sandbox may take to start.
START_SECONDS = 180.0

_PAUSE_SECONDS = 1.0


def state_of(sandbox: AsyncSandbox) -> str:
    """Return its state as Daytona calls it."""
    return str(sandbox.state.value) if sandbox.state is not None else "unknown"


async def named(client: AsyncDaytona, ref: str) -> AsyncSandbox:
    """Return the sandbox of that name, in any state. Raises `SandboxGone`, also for one that is not ours."""
    async with called(ref):
        sandbox = await client.get(ref)
    if sandbox.labels.get(LABEL_ID) != ref:
        raise SandboxGone(f"Sandbox {ref} no longer exists.")
    return sandbox


async def found(client: AsyncDaytona, ref: str) -> AsyncSandbox:
    """Return the sandbox, unless it is destroyed or being destroyed."""
    sandbox = await named(client, ref)
    if state_of(sandbox) in GONE:
        raise SandboxGone(f"Sandbox {ref} no longer exists.")
    return sandbox


async def running(client: AsyncDaytona, ref: str) -> AsyncSandbox:
    """Return the sandbox, started again if Daytona has stopped it: that ends its processes and keeps its files."""
    sandbox = await found(client, ref)
    state = state_of(sandbox)
    if state == "started":
        return sandbox
    async with called(ref, START_SECONDS):
        if state not in ASLEEP:
            await sandbox.wait_for_sandbox_start(timeout=0)
            return sandbox
        if state == "stopping":
            await sandbox.wait_for_sandbox_stop(timeout=0)
        await sandbox.start(timeout=0)
    return sandbox


async def destroy(client: AsyncDaytona, ref: str) -> None:
    """Destroy it and wait until it is gone."""
    deadline = time.monotonic() + CALL_SECONDS
    pause = 0.05
    while True:
        try:
            sandbox = await named(client, ref)
            if state_of(sandbox) == "destroyed":
                return
            if state_of(sandbox) != "destroying":
                await _delete(sandbox)
        except SandboxGone:
            return
        if time.monotonic() > deadline:
            raise ProviderUnavailable(f"Daytona did not destroy sandbox {ref} within {CALL_SECONDS:g} s.")
        # The SDK that works with old and new servers has no event for this.
        await asyncio.sleep(pause)
        pause = min(pause * 2, _PAUSE_SECONDS)


async def _delete(sandbox: AsyncSandbox) -> None:
    try:
        async with called(sandbox.name):
            await sandbox.delete(timeout=CALL_SECONDS)
    except ProviderError as error:
        # Daytona refuses while the state changes, which does not last.
        if not isinstance(error.__cause__, DaytonaError) or error.__cause__.status_code not in (400, 409):
            raise
