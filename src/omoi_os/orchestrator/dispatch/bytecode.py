"""The worker's bytecode: made once per start of an orchestrator, for all sandboxes of this machine."""

import asyncio
import logging

from omoi_os.worker.command import compile_argv

log = logging.getLogger(__name__)


async def compile_worker() -> None:
    """Compile what sandboxes run. Where the program's folder cannot be written to, they do it themselves each time."""
    process = await asyncio.create_subprocess_exec(
        *compile_argv(), stdin=asyncio.subprocess.DEVNULL, stdout=asyncio.subprocess.DEVNULL, env={}
    )
    try:
        code = await process.wait()
    except asyncio.CancelledError:
        process.kill()
        await process.wait()
        raise
    if code:
        log.warning("the worker could not be imported outside of a sandbox (exit code %d); see the lines above", code)
