"""The reporter: the first process of a work sandbox.

Exit codes: 0 completed, 1 failed, 2 not started, 3 superseded by a later attempt, 143 stopped by SIGTERM.
"""

from __future__ import annotations

import asyncio
import contextlib
import os
import signal
import sys
from typing import Any

from omoi_os.worker.agents.registry import load_agent
from omoi_os.worker.attempt.attempt import EXIT_FAILED, EXIT_STOPPED, Attempt
from omoi_os.worker.reporter import delivery
from omoi_os.worker.reporter.api import Api, Superseded
from omoi_os.worker.reporter.blobs import Blobs
from omoi_os.worker.reporter.gateway_port import open_gateway_port
from omoi_os.worker.reporter.report import Report
from omoi_os.worker.reporter.spool import Spool
from omoi_os.worker.startup.cold_start import EarlyStart
from omoi_os.worker.startup.environment import Environment
from omoi_os.worker.startup.variables import BadEnvironment

EXIT_NOT_STARTED = 2
EXIT_SUPERSEDED = 3

#: How long a stopped worker tries to send its last events.
DRAIN_SECONDS = 8.0


async def run(environment: Environment, early: EarlyStart) -> int:
    """Run the attempt, delivery and heartbeat side by side until the last event is acknowledged."""
    stop = asyncio.Event()
    asyncio.get_running_loop().add_signal_handler(signal.SIGTERM, stop.set)
    signal.pthread_sigmask(signal.SIG_UNBLOCK, [signal.SIGTERM])
    paths = environment.paths
    server = await open_gateway_port(paths.gateway_socket) if paths.gateway_folder.is_dir() else None
    with contextlib.closing(Spool(paths.spool)) as spool:
        # A full disk must not end the attempt here.
        with contextlib.suppress(OSError):
            paths.pid_file.write_text(str(os.getpid()))
        blobs = Blobs(paths.blobs)
        report = Report(spool, blobs=blobs, max_bytes=environment.assignment.spool_bytes)
        api = Api(environment.events_url, environment.token)
        attempt = Attempt(environment, report, api, agent=load_agent(), early=early)
        senders = [
            asyncio.create_task(delivery.deliver(spool, api, blobs=blobs, sent=early.answer)),
            asyncio.create_task(delivery.beat(api, attempt.status, every=environment.assignment.heartbeat_seconds)),
            asyncio.create_task(attempt.transcripts.save_turns()),
            asyncio.create_task(attempt.inbox.listen()),
        ]
        working = asyncio.create_task(_work_and_drain(attempt, spool, stop))
        try:
            await asyncio.wait({working, *senders}, return_when=asyncio.FIRST_COMPLETED)
            return (working if working.done() else next(task for task in senders if task.done())).result()
        except Superseded as error:
            _print_error(f"Another attempt took over: {error}.")
            await attempt.abandon()
            return EXIT_SUPERSEDED
        finally:
            await _cancel(working, *senders)
            if server:
                server.close()


async def _work_and_drain(attempt: Attempt, spool: Spool, stop: asyncio.Event) -> int:
    code = await _work(attempt, stop)
    draining = asyncio.create_task(spool.wait_until_empty())
    stopping = asyncio.create_task(stop.wait())
    try:
        await asyncio.wait({draining, stopping}, return_when=asyncio.FIRST_COMPLETED)
        await asyncio.wait({draining}, timeout=DRAIN_SECONDS)
    finally:
        await _cancel(draining, stopping)
    return code


async def _work(attempt: Attempt, stop: asyncio.Event) -> int:
    """Run the attempt to its last event, or until SIGTERM, which then is its last event."""
    working = asyncio.create_task(attempt.work())
    stopping = asyncio.create_task(stop.wait())
    try:
        await asyncio.wait({working, stopping}, return_when=asyncio.FIRST_COMPLETED)
        if not working.done():
            await asyncio.wait({working}, timeout=await attempt.stop())
        if working.done():
            return working.result()
        await _cancel(working)
        await attempt.shut_down()
        return EXIT_STOPPED
    except Superseded:
        raise
    except Exception as error:  # noqa: BLE001
        # The worker's main: an error of the worker itself must still become the attempt's last event.
        _print_error(f"The worker failed: {type(error).__name__}: {error}")
        await attempt.fail_unexpectedly(error)
        return EXIT_FAILED
    finally:
        await _cancel(working, stopping)


async def _cancel(*tasks: asyncio.Task[Any]) -> None:
    for task in tasks:
        task.cancel()
    await asyncio.gather(*tasks, return_exceptions=True)


def _print_error(line: str) -> None:
    print(line, file=sys.stderr, flush=True)  # noqa: T201


def main(early: EarlyStart) -> None:
    """Run the worker to its end, continuing from the first stage."""
    try:
        environment = Environment.read(early.variables)
    except BadEnvironment as error:
        _print_error(str(error))
        sys.exit(EXIT_NOT_STARTED)
    sys.exit(asyncio.run(run(environment, early)))
