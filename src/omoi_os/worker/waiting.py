"""Waiting: the reporter of a warm sandbox. Everything is loaded and nothing is known until a task is handed over.

Exit codes: those of `main`; 1 also when the agent's child dies before there is a task, 2 when there was one before.
"""

from __future__ import annotations

import asyncio
import os
import signal
import socket
import sys
from typing import Any

from omoi_os.worker import main as reporter
from omoi_os.worker.child import AgentChild
from omoi_os.worker.environment import BadEnvironment, Environment
from omoi_os.worker.handover import MAX_VARIABLES_BYTES
from omoi_os.worker.places import Places
from omoi_os.worker.run import EXIT_FAILED, EXIT_STOPPED

#: How long whoever hands a task over may take.
HANDOVER_SECONDS = 10.0

#: The answers to a handover, each followed by a line's end or a reason.
TAKEN = b"taken"
REFUSED = b"refused"
#: The answer to whoever hands nothing over, once the SDK is loaded.
READY = b"ready"


class Handover:
    """Listens for the task. The first one that makes a start is taken, and no other after it."""

    def __init__(self, places: Places) -> None:
        self._places = places
        self._serving: set[asyncio.Task[None]] = set()
        self._server: asyncio.Server | None = None
        self._ready = asyncio.Event()
        self._open = True
        self.taken: asyncio.Future[Environment] = asyncio.get_running_loop().create_future()

    async def listen(self) -> None:
        """Listen in the home, for its owner alone."""
        self._places.handover_socket.unlink(missing_ok=True)
        listener = socket.socket(socket.AF_UNIX)
        before = os.umask(0o177)
        try:
            listener.bind(str(self._places.handover_socket))
        finally:
            os.umask(before)
        self._server = await asyncio.start_unix_server(self._connected, sock=listener)

    def tell_ready(self) -> None:
        """Let whoever asks know that a task may come now and starts at once."""
        self._places.ready_file.touch(mode=0o600)
        self._ready.set()

    def close(self) -> None:
        """Leave no way in."""
        if self._server:
            self._server.close()
        self._open = False
        self._ready.set()
        self._places.handover_socket.unlink(missing_ok=True)
        self._places.ready_file.unlink(missing_ok=True)

    def _connected(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        task = asyncio.create_task(self._serve(reader, writer))
        self._serving.add(task)
        task.add_done_callback(self._serving.discard)

    async def _serve(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        try:
            async with asyncio.timeout(HANDOVER_SECONDS):
                raw = await _read_all(reader)
        except (TimeoutError, OSError):
            writer.close()
            return
        if not raw:
            await self._ready.wait()
        if self._open:
            # Whoever finds the connection closed without an answer came second.
            writer.write((self._take(raw) if raw else READY) + b"\n")
        writer.close()

    def _take(self, raw: bytes) -> bytes:
        try:
            environment = Environment.parse(raw)
        except BadEnvironment as error:
            return REFUSED + b" " + str(error).encode(errors="replace")
        with open(self._places.variables_file, "wb", opener=_private) as file:
            file.write(raw)
        self._places.taken_file.touch(mode=0o600)
        self.close()
        self.taken.set_result(environment)
        return TAKEN


def _private(path: str, flags: int) -> int:
    return os.open(path, flags, 0o600)


async def _read_all(reader: asyncio.StreamReader) -> bytes:
    """All of it, or so little of what is too long that it is no JSON."""
    raw = bytearray()
    while len(raw) <= MAX_VARIABLES_BYTES and (chunk := await reader.read(MAX_VARIABLES_BYTES)):
        raw += chunk
    return bytes(raw) if len(raw) <= MAX_VARIABLES_BYTES else bytes(raw[:1])


async def wait(places: Places) -> int:
    """Load the agent's child, wait for a task, then be a reporter like any other."""
    stop = asyncio.Event()
    asyncio.get_running_loop().add_signal_handler(signal.SIGTERM, stop.set)
    handover = Handover(places)
    child = await AgentChild.spawn(places)
    try:
        await handover.listen()
        environment = await _first(handover, child, stop)
    finally:
        handover.close()
    if environment is None:
        await child.kill()
        return EXIT_STOPPED if stop.is_set() else EXIT_FAILED
    return await reporter.run(environment, child=child)


async def _first(handover: Handover, child: AgentChild, stop: asyncio.Event) -> Environment | None:
    """The environment once it is handed over; None on SIGTERM or when the child ends."""
    stopping = asyncio.create_task(stop.wait())
    loading = asyncio.create_task(child.wait_until_ready())
    ending = asyncio.create_task(child.ended())
    waking: set[asyncio.Future[Any]] = {handover.taken, stopping, ending}
    try:
        await asyncio.wait({loading, *waking}, return_when=asyncio.FIRST_COMPLETED)
        if loading.done() and loading.result():
            handover.tell_ready()
            await asyncio.wait(waking, return_when=asyncio.FIRST_COMPLETED)
        if handover.taken.done() and not stop.is_set():
            return handover.taken.result()
        if not stop.is_set():
            _say(f"The agent's child ended while it waited: {child.stderr[-1000:]}")
        return None
    finally:
        for task in (stopping, loading, ending):
            task.cancel()
        await asyncio.gather(stopping, loading, ending, return_exceptions=True)


def _say(line: str) -> None:
    print(line, file=sys.stderr, flush=True)  # noqa: T201


def main() -> None:
    """Wait for a task, with the places that this process's environment names and nothing else of it."""
    places = Places.from_environ(os.environ)
    places.private.mkdir(parents=True, exist_ok=True, mode=0o700)
    if places.taken_file.exists():
        _say("A warm sandbox is used once, and this one had its task.")
        sys.exit(reporter.EXIT_NOT_STARTED)
    places.pid_file.write_text(str(os.getpid()))
    sys.exit(asyncio.run(wait(places)))
