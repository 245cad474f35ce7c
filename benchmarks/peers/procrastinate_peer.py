"""Both sides of procrastinate: `work` runs a worker, `defer` adds a job for every line on standard input."""

import asyncio
import importlib
import logging
import sys
import time
from typing import Any

# Not a dependency of ours, so the type checker does not know it.
_procrastinate: Any = importlib.import_module("procrastinate")


async def work(app: Any) -> None:
    """Install the tables, then work until killed."""
    await app.schema_manager.apply_schema_async()
    print("ready", flush=True)
    await app.run_worker_async(install_signal_handlers=False, listen_notify=True)


async def defer(job: Any) -> None:
    """Defer one job per line of standard input."""
    loop = asyncio.get_running_loop()
    print("ready", flush=True)
    while await loop.run_in_executor(None, sys.stdin.buffer.readline):
        await job.defer_async(begun=time.time())


async def run(part: str, conninfo: str) -> None:
    """Run one of the two sides."""
    # It warns that the application is defined in the main module, which affects only its other commands.
    logging.getLogger("procrastinate").setLevel(logging.ERROR)
    app: Any = _procrastinate.App(connector=_procrastinate.PsycopgConnector(conninfo=conninfo))

    @app.task(name="benchmark")  # type: ignore[untyped-decorator]
    async def job(begun: float) -> None:
        print((time.time() - begun) * 1000, flush=True)

    async with app.open_async():
        await (work(app) if part == "work" else defer(job))


if __name__ == "__main__":
    asyncio.run(run(*sys.argv[1:]))
