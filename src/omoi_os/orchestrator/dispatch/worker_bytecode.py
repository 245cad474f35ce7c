"""Compile the worker's bytecode once per orchestrator start, for all sandboxes of this machine."""

import asyncio
import logging

from omoi_os.worker.command import compile_argv

log = logging.getLogger(__name__)


async def compile_worker() -> None:
    """Compile the worker. If the package's folder is read-only, each sandbox compiles it instead."""
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
        log.warning("compiling the worker failed with exit code %d; see the lines above", code)
