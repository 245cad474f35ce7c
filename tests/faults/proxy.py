"""A network that fails: a TCP proxy in front of a real server, with the ways in which connections break."""

import asyncio
import contextlib
import socket
import struct
from enum import StrEnum

#: Bytes that are let through at once, and the pause after them, where a line is slow.
SLOW_BYTES = 1
SLOW_PAUSE_SECONDS = 1.0
CHUNK_BYTES = 64 * 1024


class Fault(StrEnum):
    """How the network fails."""

    NONE = "none"
    RESET = "reset"  #: every connection is refused with a RST
    BLACK_HOLE = "black hole"  #: what is sent arrives nowhere
    LOST_REPLY = "lost reply"  #: the request arrives, its answer does not
    HALF_OPEN = "half open"  #: the request arrives, then the other side is gone without a word
    SLOW = "slow"  #: one byte in a second


class Proxy:
    """Forward connections to a port while the network works. Connections keep the fault that they started with."""

    def __init__(self, port: int) -> None:
        self._port = port
        self._server: asyncio.Server | None = None
        self._tasks: set[asyncio.Task[None]] = set()
        self._struck = asyncio.Event()
        self.fault = Fault.NONE
        #: How many connections met the fault since it was set.
        self.met = 0

    async def start(self) -> str:
        """Listen; the address to use instead of the server's."""
        self._server = await asyncio.start_server(self._connected, "127.0.0.1", 0)
        return f"http://127.0.0.1:{self._server.sockets[0].getsockname()[1]}"

    async def stop(self) -> None:
        if self._server:
            self._server.close()
        while self._tasks:
            for task in self._tasks:
                task.cancel()
            await asyncio.gather(*self._tasks, return_exceptions=True)

    async def fail(self, fault: Fault, *, times: int) -> None:
        """Fail in this way until so many connections have met it, then be well."""
        self.fault, self.met = fault, 0
        while self.met < times:
            self._struck.clear()
            await self._struck.wait()
        self.fault = Fault.NONE

    def _connected(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        task = asyncio.create_task(self._serve(reader, writer))
        self._tasks.add(task)
        task.add_done_callback(self._tasks.discard)
        # A task that is cancelled before it starts closes nothing by itself.
        task.add_done_callback(lambda _: writer.close())

    async def _serve(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        fault = self.fault
        try:
            if fault == Fault.RESET:
                _reset_at_close(writer)
            elif fault == Fault.BLACK_HOLE:
                self._strike()
                await _swallow(reader)
            else:
                await self._forward(reader, writer, fault)
        except OSError:
            pass
        finally:
            if fault != Fault.BLACK_HOLE:
                self._strike()
            await _close(writer)

    async def _forward(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter, fault: Fault) -> None:
        above_reader, above = await asyncio.open_connection("127.0.0.1", self._port)
        sending = asyncio.create_task(_copy(reader, above, slow=fault == Fault.SLOW))
        try:
            if fault in (Fault.LOST_REPLY, Fault.HALF_OPEN):
                # The answer is there, so what was asked has been done.
                await above_reader.read(CHUNK_BYTES)
                if fault == Fault.HALF_OPEN:
                    self._strike()
                    await _swallow(reader)
                return
            if fault == Fault.SLOW:
                self._strike()
            await _copy(above_reader, writer, slow=False)
        finally:
            sending.cancel()
            await asyncio.gather(sending, return_exceptions=True)
            await _close(above)

    def _strike(self) -> None:
        self.met += 1
        self._struck.set()


async def _copy(reader: asyncio.StreamReader, writer: asyncio.StreamWriter, *, slow: bool) -> None:
    while chunk := await reader.read(SLOW_BYTES if slow else CHUNK_BYTES):
        writer.write(chunk)
        await writer.drain()
        if slow:
            await asyncio.sleep(SLOW_PAUSE_SECONDS)


async def _swallow(reader: asyncio.StreamReader) -> None:
    """Take everything, and answer nothing, until the other side has had enough."""
    with contextlib.suppress(OSError):
        while await reader.read(CHUNK_BYTES):
            pass


async def _close(writer: asyncio.StreamWriter) -> None:
    writer.close()
    with contextlib.suppress(OSError):
        await writer.wait_closed()


def _reset_at_close(writer: asyncio.StreamWriter) -> None:
    raw = writer.get_extra_info("socket")
    raw.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, struct.pack("ii", 1, 0))
