"""The agent driver's process, as the reporter sees it: sends orders, and reads reports within bounds."""

from __future__ import annotations

import asyncio
import contextlib
import os
import socket
from collections.abc import AsyncIterator

from omoi_os.protocol.agent import MAX_LINE_BYTES, BadMessage, DriverOrder, DriverReport, decode_report, encode
from omoi_os.worker.processes import kill_marked, kill_tree
from omoi_os.worker.reporter.usage import AgentProcesses
from omoi_os.worker.startup.driver_start import LaunchedDriver

CHUNK_BYTES = 256 * 1024
STDERR_BYTES = 16 * 1024
ENDING_SECONDS = 10.0

Streams = tuple[asyncio.StreamReader, asyncio.StreamWriter]


class ChildProcess:
    """A process that this one started."""

    def __init__(self, pid: int) -> None:
        loop = asyncio.get_running_loop()
        self.pid = pid
        self.returncode: int | None = None
        self._ended = loop.create_future()
        self._handle = os.pidfd_open(pid)
        loop.add_reader(self._handle, self._collect)

    def _collect(self) -> None:
        asyncio.get_running_loop().remove_reader(self._handle)
        os.close(self._handle)
        self.returncode = os.waitstatus_to_exitcode(os.waitpid(self.pid, 0)[1])
        self._ended.set_result(None)

    async def wait(self) -> int:
        """Wait for its end and return the exit code, negative for a signal."""
        await asyncio.shield(self._ended)
        assert self.returncode is not None  # noqa: S101
        return self.returncode


class DriverProcess:
    """One agent driver. It is untrusted: everything it reports is validated, and it can die at any moment."""

    def __init__(self, process: ChildProcess, streams: Streams, *, stderr: asyncio.StreamReader, mark: str) -> None:
        self._process = process
        self._errors = stderr
        self._reader, self._writer = streams
        self._pending = bytearray()
        self._searched = 0
        self._skipping = False
        self._stderr = bytearray()
        self._reading = asyncio.create_task(self._read_stderr())
        #: The value of `MARK_NAME` in the environment of every process the agent starts.
        self.mark = mark

    @classmethod
    async def adopt(cls, launched: LaunchedDriver) -> DriverProcess:
        """Take over a driver that was launched. Do this once."""
        streams = await asyncio.open_connection(sock=socket.socket(fileno=launched.channel))
        loop = asyncio.get_running_loop()
        stderr = asyncio.StreamReader()
        pipe = os.fdopen(launched.stderr, "rb", buffering=0)
        await loop.connect_read_pipe(lambda: asyncio.StreamReaderProtocol(stderr), pipe)
        return cls(ChildProcess(launched.pid), streams, stderr=stderr, mark=launched.mark)

    @property
    def processes(self) -> AgentProcesses:
        """How the agent's processes are found."""
        return AgentProcesses(self._process.pid, self.mark)

    @property
    def stderr(self) -> str:
        """The end of what the driver and the agent's programs wrote to stderr."""
        return self._stderr.decode(errors="replace").strip()

    async def _read_stderr(self) -> None:
        while chunk := await self._errors.read(CHUNK_BYTES):
            self._stderr += chunk
            del self._stderr[:-STDERR_BYTES]

    async def send(self, order: DriverOrder) -> None:
        """Send an order. A dead driver is not an error here: `reports` and `wait` show it."""
        await self.send_line(encode(order))

    async def send_line(self, line: bytes) -> None:
        """Send an encoded order."""
        with contextlib.suppress(OSError):
            self._writer.write(line)
            await self._writer.drain()

    async def reports(self) -> AsyncIterator[DriverReport | BadMessage]:
        """Yield reports until the driver closes the channel. An invalid line is yielded as its `BadMessage`."""
        while (report := await self._receive()) is not None:
            yield report

    async def _receive(self) -> DriverReport | BadMessage | None:
        while True:
            end = self._pending.find(b"\n", self._searched)
            if end >= 0:
                line = bytes(self._pending[:end])
                del self._pending[: end + 1]
                self._searched = 0
                if not self._skipping:
                    return _decode(line)
                self._skipping = False
                continue
            if self._skipping or len(self._pending) > MAX_LINE_BYTES:
                was_skipping, self._skipping = self._skipping, True
                self._pending.clear()
                if not was_skipping:
                    return BadMessage(f"a line of more than {MAX_LINE_BYTES} bytes")
            self._searched = len(self._pending)
            chunk = await self._read_chunk()
            if not chunk:
                return None
            self._pending += chunk

    async def _read_chunk(self) -> bytes:
        try:
            return await self._reader.read(CHUNK_BYTES)
        except OSError:
            return b""

    async def wait(self, *, timeout: float = ENDING_SECONDS) -> int | None:
        """Wait for the driver to exit and return its exit code; after the timeout kill it and return None."""
        try:
            async with asyncio.timeout(timeout):
                return await self._process.wait()
        except TimeoutError:
            await self.kill()
            return None

    async def kill(self) -> None:
        """Kill the driver and every process below it."""
        if self._process.returncode is None:
            kill_tree(self._process.pid)
            await self._process.wait()
        # Processes whose parent died first are found only by their mark.
        kill_marked(self.mark)
        self.close_channel()
        self._reading.cancel()

    def close_channel(self) -> None:
        """Close our end of the channel, as the end of this process would."""
        self._writer.close()


def _decode(line: bytes) -> DriverReport | BadMessage:
    try:
        return decode_report(line)
    except BadMessage as error:
        return error
