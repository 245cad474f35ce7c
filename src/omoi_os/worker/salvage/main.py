"""Salvage: saves what a sandbox still holds, when its worker has ended or is to end; see `command.salvage_argv`."""

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
from omoi_os.worker.agents.claude.transcripts import Transcripts, newest_session
from omoi_os.worker.command import SALVAGE_SECONDS
from omoi_os.worker.paths import Places
from omoi_os.worker.reporter import delivery
from omoi_os.worker.reporter.api import Api, Superseded
from omoi_os.worker.reporter.blobs import Blobs
from omoi_os.worker.reporter.gateway_port import open_gateway_port
from omoi_os.worker.reporter.http import HttpError
from omoi_os.worker.reporter.report import Report
from omoi_os.worker.reporter.spool import Spool
from omoi_os.worker.repository.changes import session_changes
from omoi_os.worker.repository.git import GitError, Repository
from omoi_os.worker.repository.unfinished import save_unfinished_work
from omoi_os.worker.salvage.stop_reporter import stop_worker
from omoi_os.worker.startup.environment import Environment
from omoi_os.worker.startup.handover import MAX_VARIABLES_BYTES
from omoi_os.worker.startup.variables import BadEnvironment, parse

#: How long all of it may take; of that, a worker that still runs to save by itself, and what remains to be sent.
ALL_SECONDS = SALVAGE_SECONDS - 3.0
STOP_SECONDS = 20.0
SEND_SECONDS = 15.0
STDIN_SECONDS = 1.0

TRANSCRIPT_TRIES = 3

#: With one of these an attempt is over.
ENDINGS = (EventType.AGENT_COMPLETED, EventType.AGENT_FAILED, EventType.AGENT_SHUTDOWN)


class Salvage:
    """One pass over a sandbox. `found` always tells what is safe by now."""

    def __init__(self, environment: Environment) -> None:
        self._environment = environment
        self._places = environment.places
        self._api = Api(environment.events_url, environment.token)
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
        """Save everything, each part whatever becomes of the others."""
        deadline = time.monotonic() + ALL_SECONDS
        self.found["stopped_worker"] = await stop_worker(self._places, seconds=STOP_SECONDS)
        async with _gateway(self._places):
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
            self.complain(f"The platform takes nothing more of this attempt: {what} stays here.")
        except TimeoutError:
            self.complain(f"Saving {what} took more than {seconds:.0f} s.")
        except (GitError, HttpError, OSError) as error:
            self.complain(f"Saving {what} failed: {error}")

    def complain(self, problem: str) -> None:
        """Note that something is not safe."""
        self.found["problems"].append(problem)

    async def _save_work(self) -> None:
        environment = self._environment
        base = self._read_base()
        if base is None or environment.assignment.mode != ExecutionMode.IMPLEMENTATION:
            return
        repository = Repository(self._places, environment.assignment, environment.token, environment.variables)
        saved = await save_unfinished_work(repository, base)
        self.found |= {"wip_commit": saved.commit, "left_out": list(saved.left_out)}
        if saved.problem:
            self.complain(f"Some files are not in the unfinished work: {saved.problem}")

    def _read_base(self) -> str | None:
        """None while the checkout is not whole: then what is missing in it was not removed by the agent."""
        try:
            base = self._places.base_file.read_text()
        except FileNotFoundError:
            return None
        return base if base.isascii() and base.isalnum() else None

    async def _save_transcript(self) -> None:
        session_id = newest_session(self._places)
        if session_id is None:
            return
        self.found["session_id"] = session_id
        saved = await Transcripts(self._api, self._places).save(session_id, tries=TRANSCRIPT_TRIES)
        self.found["transcript_saved"] = saved
        if not saved:
            self.complain("The transcript was not taken.")

    async def _send_events(self) -> None:
        if self._environment.assignment.has_ended or not self._places.spool.exists():
            return
        blobs = Blobs(self._places.blobs)
        with contextlib.closing(Spool(self._places.spool)) as spool:
            await self._tell_end(spool, blobs)
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

    async def _tell_end(self, spool: Spool, blobs: Blobs) -> None:
        """Give an attempt that was cut off its last event, with what the session changed in all."""
        base = self._read_base()
        if base is None or not spool.last or _is_told(self._places.spool):
            return
        changed = await session_changes(self._places.workspace, self._places.tree, base=base)
        about = {"reason": "salvaged", "session_id": newest_session(self._places), **changed}
        Report(spool, blobs=blobs).emit(EventType.AGENT_SHUTDOWN, about)


def _is_told(spool: Path) -> bool:
    """Whether the last attempt in a spool has its last event."""
    last = None
    for event in read_frames(spool.read_bytes()):
        if event.event_type in (EventType.AGENT_STARTED, *ENDINGS):
            last = event.event_type
    return last in ENDINGS


@contextlib.asynccontextmanager
async def _gateway(places: Places) -> AsyncIterator[None]:
    """A way to the gateway: the one that is open, else one of our own."""
    server = None
    if places.gateway_folder.is_dir():
        # Someone else may listen there: whoever ran before us, or another salvage.
        with contextlib.suppress(OSError):
            server = await open_gateway_port(places.gateway_socket, port=GATEWAY_PORT)
    try:
        yield
    finally:
        if server:
            server.close()


def _read_environment() -> Environment:
    """From stdin if there is anything, for a token may be newer there; else our own; else what was handed over."""
    given = b""
    # Not every provider closes the stdin of a command that has none.
    if select.select([sys.stdin], [], [], STDIN_SECONDS)[0]:
        given = sys.stdin.buffer.read(MAX_VARIABLES_BYTES)
    if given:
        return Environment.read(parse(given))
    handed_over = Places.from_environ(os.environ).variables_file
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
        salvage.complain("SIGTERM came before everything was saved.")
    return salvage


def main() -> None:
    """Salvage once, and say what is safe."""
    try:
        found = asyncio.run(_run(_read_environment())).found
    except BadEnvironment as error:
        found = {"problems": [str(error)]}
    print(json.dumps(found), flush=True)  # noqa: T201
    for problem in found["problems"]:
        print(problem, file=sys.stderr)  # noqa: T201
    sys.exit(1 if found["problems"] else 0)
