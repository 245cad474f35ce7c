"""Salvage: save transcript, spool and unfinished work of a sandbox; see `command.salvage_argv`."""

from __future__ import annotations

import asyncio
import contextlib
import json
import os
import select
import signal
import sys
import time
from collections.abc import AsyncIterator, Awaitable
from pathlib import Path
from typing import Any

from omoi_os.protocol.assignment import ExecutionMode
from omoi_os.protocol.events import EventType
from omoi_os.protocol.paths import GATEWAY_PORT
from omoi_os.protocol.spool import read_frames
from omoi_os.worker.agents.registry import load_agent
from omoi_os.worker.command import SALVAGE_SECONDS
from omoi_os.worker.paths import WorkerPaths
from omoi_os.worker.reporter import delivery
from omoi_os.worker.reporter.api import Api, Superseded
from omoi_os.worker.reporter.blobs import Blobs
from omoi_os.worker.reporter.gateway_port import open_gateway_port
from omoi_os.worker.reporter.http import HttpError
from omoi_os.worker.reporter.report import Report
from omoi_os.worker.reporter.spool import Spool
from omoi_os.worker.reporter.transcripts import Transcripts
from omoi_os.worker.repository.changes import session_changes
from omoi_os.worker.repository.git import GitError, Repository
from omoi_os.worker.repository.unfinished_work import save_unfinished_work
from omoi_os.worker.salvage.stop_reporter import stop_reporter
from omoi_os.worker.startup.environment import Environment
from omoi_os.worker.startup.handover import MAX_VARIABLES_BYTES
from omoi_os.worker.startup.variables import BadEnvironment, parse

#: The limits of the whole salvage, of stopping a worker that still runs, and of sending each part.
ALL_SECONDS = SALVAGE_SECONDS - 3.0
STOP_SECONDS = 20.0
SEND_SECONDS = 15.0
STDIN_SECONDS = 1.0

TRANSCRIPT_TRIES = 3

#: The events that end an attempt.
ENDINGS = (EventType.AGENT_COMPLETED, EventType.AGENT_FAILED, EventType.AGENT_SHUTDOWN)


class Salvage:
    """One salvage of a sandbox. `found` always says what is saved so far."""

    def __init__(self, environment: Environment) -> None:
        self._environment = environment
        self._paths = environment.paths
        self._api = Api(environment.events_url, environment.token)
        self._agent = load_agent()
        self.found: dict[str, Any] = {
            "stopped_worker": False,
            "wip_commit": None,
            "left_out": [],
            "session_id": None,
            "transcript_saved": False,
            "events": 0,
            "events_left": 0,
            "superseded": False,
            "problems": [],
        }

    async def run(self) -> None:
        """Save every part, independently of the others."""
        deadline = time.monotonic() + ALL_SECONDS
        self.found["stopped_worker"] = await stop_reporter(self._paths, seconds=STOP_SECONDS)
        async with _gateway(self._paths):
            await asyncio.gather(
                self._try("the unfinished work", self._save_work(), seconds=deadline - time.monotonic()),
                self._try("the transcript", self._save_transcript(), seconds=SEND_SECONDS),
                self._try("the events", self._send_events(), seconds=SEND_SECONDS),
            )

    async def _try(self, what: str, saving: Awaitable[None], *, seconds: float) -> None:
        try:
            async with asyncio.timeout(seconds):
                await saving
        except Superseded:
            self.found["superseded"] = True
            self.complain(f"The platform accepts nothing more from this attempt: {what} was not saved.")
        except TimeoutError:
            self.complain(f"Saving {what} took more than {seconds:.0f} s.")
        except (GitError, HttpError, OSError) as error:
            self.complain(f"Saving {what} failed: {error}")

    def complain(self, problem: str) -> None:
        """Note that something was not saved."""
        self.found["problems"].append(problem)

    async def _save_work(self) -> None:
        environment = self._environment
        base = self._read_base()
        if base is None or environment.assignment.mode != ExecutionMode.IMPLEMENTATION:
            return
        repository = Repository(self._paths, environment.assignment, environment.token, environment.variables)
        saved = await save_unfinished_work(repository, base)
        self.found |= {"wip_commit": saved.commit, "left_out": list(saved.left_out)}
        if saved.problem:
            self.complain(f"Some files are not in the unfinished work: {saved.problem}")

    def _read_base(self) -> str | None:
        """Return None while the checkout is incomplete: files missing from it were not removed by the agent."""
        try:
            base = self._paths.base_file.read_text()
        except FileNotFoundError:
            return None
        return base if base.isascii() and base.isalnum() else None

    async def _save_transcript(self) -> None:
        session_id = self._agent.newest_session(self._paths)
        if session_id is None:
            return
        self.found["session_id"] = session_id
        saved = await Transcripts(self._api, self._paths, self._agent).save(session_id, tries=TRANSCRIPT_TRIES)
        self.found["transcript_saved"] = saved
        if not saved:
            self.complain("The platform did not accept the transcript.")

    async def _send_events(self) -> None:
        if self._environment.assignment.has_ended or not self._paths.spool.exists():
            return
        blobs = Blobs(self._paths.blobs)
        with contextlib.closing(Spool(self._paths.spool)) as spool:
            await self._report_end(spool, blobs)
            sending = asyncio.create_task(delivery.deliver(spool, self._api, blobs=blobs))
            emptying = asyncio.create_task(spool.wait_until_empty())
            self.found["events"] = spool.last
            try:
                await asyncio.wait({sending, emptying}, return_when=asyncio.FIRST_COMPLETED)
                if sending.done():
                    sending.result()
            finally:
                self.found["events_left"] = spool.waiting
                sending.cancel()
                emptying.cancel()
                await asyncio.gather(sending, emptying, return_exceptions=True)

    async def _report_end(self, spool: Spool, blobs: Blobs) -> None:
        """Report the end of an attempt that was cut off, with everything the session changed."""
        base = self._read_base()
        if base is None or not spool.last or _is_end_reported(self._paths.spool):
            return
        changed = await session_changes(self._paths.workspace, self._paths.snapshots, base=base)
        data = {"reason": "salvaged", "session_id": self._agent.newest_session(self._paths), **changed}
        Report(spool, blobs=blobs).emit(EventType.AGENT_SHUTDOWN, data)


def _is_end_reported(spool: Path) -> bool:
    """Return whether the last attempt in a spool has its last event."""
    last = None
    for event in read_frames(spool.read_bytes()):
        if event.event_type in (EventType.AGENT_STARTED, *ENDINGS):
            last = event.event_type
    return last in ENDINGS


@contextlib.asynccontextmanager
async def _gateway(paths: WorkerPaths) -> AsyncIterator[None]:
    """Forward the gateway port, unless it is forwarded already."""
    server = None
    if paths.gateway_folder.is_dir():
        # A worker that still runs, or another salvage, may hold the port.
        with contextlib.suppress(OSError):
            server = await open_gateway_port(paths.gateway_socket, port=GATEWAY_PORT)
    try:
        yield
    finally:
        if server:
            server.close()


def _read_environment() -> Environment:
    """Read the variables from stdin, which may have a newer token; else our environment; else what was handed over."""
    given = b""
    # Not every provider closes the stdin of a command without input.
    if select.select([sys.stdin], [], [], STDIN_SECONDS)[0]:
        given = sys.stdin.buffer.read(MAX_VARIABLES_BYTES)
    if given:
        return Environment.read(parse(given))
    handed_over = WorkerPaths.from_environ(os.environ).variables_file
    if not os.environ.get("TASK_DATA_BASE64") and handed_over.is_file():
        return Environment.read(parse(handed_over.read_bytes()))
    return Environment.read(os.environ)


async def _run(environment: Environment) -> Salvage:
    salvage = Salvage(environment)
    working = asyncio.create_task(salvage.run())
    asyncio.get_running_loop().add_signal_handler(signal.SIGTERM, working.cancel)
    try:
        await working
    except asyncio.CancelledError:
        salvage.complain("SIGTERM arrived before everything was saved.")
    return salvage


def main() -> None:
    """Salvage once, and print what was saved."""
    try:
        found = asyncio.run(_run(_read_environment())).found
    except BadEnvironment as error:
        found = {"problems": [str(error)]}
    print(json.dumps(found), flush=True)  # noqa: T201
    for problem in found["problems"]:
        print(problem, file=sys.stderr)  # noqa: T201
    sys.exit(1 if found["problems"] else 0)
