"""Forward a loopback port inside the sandbox to the gateway socket."""

from __future__ import annotations

import asyncio
import os
import signal
from pathlib import Path

from omoi_os.protocol.paths import GATEWAY_PORT
from omoi_os.worker.paths import WorkerPaths

#: How long a connection waits while the gateway is down.
CONNECT_SECONDS = 30.0
RETRY_SECONDS = 0.1
CHUNK_BYTES = 64 * 1024

Pair = tuple[asyncio.StreamReader, asyncio.StreamWriter]


async def open_gateway_port(socket: Path, *, port: int = GATEWAY_PORT, wait: float = CONNECT_SECONDS) -> asyncio.Server:
    """Listen on loopback. Each connection opens the gateway socket again, so a restarted gateway is found."""

    serving: set[asyncio.Task[None]] = set()

    # Not an async callback: asyncio logs an error for its tasks if the worker exits before them.
    def connected(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        task = asyncio.create_task(serve(reader, writer))
        serving.add(task)
        task.add_done_callback(serving.discard)

    async def serve(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        try:
            inner = await _connect(socket, wait=wait)
        except OSError:
            writer.transport.abort()
            return
        await _join((reader, writer), inner)

    return await asyncio.start_server(connected, "127.0.0.1", port, backlog=128)


async def _connect(socket: Path, *, wait: float) -> Pair:
    """Connect, retrying while the gateway does not listen: nothing notifies us when it does."""
    deadline = asyncio.get_running_loop().time() + wait
    while True:
        try:
            return await asyncio.open_unix_connection(str(socket))
        except OSError:
            if asyncio.get_running_loop().time() >= deadline:
                raise
            await asyncio.sleep(RETRY_SECONDS)


async def _join(one: Pair, other: Pair) -> None:
    """Copy bytes in both directions until both have ended."""
    try:
        await asyncio.gather(_copy(one[0], other[1]), _copy(other[0], one[1]))
    finally:
        for _, writer in (one, other):
            writer.close()


async def _copy(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
    try:
        while chunk := await reader.read(CHUNK_BYTES):
            writer.write(chunk)
            await writer.drain()
        if writer.can_write_eof():
            writer.write_eof()
    except OSError:
        # One side is gone: end the other direction too, or its reader would wait forever.
        writer.transport.abort()


async def _run() -> None:
    stop = asyncio.Event()
    asyncio.get_running_loop().add_signal_handler(signal.SIGTERM, stop.set)
    server = await open_gateway_port(WorkerPaths.from_environ(os.environ).gateway_socket)
    await stop.wait()
    server.close()


def main() -> None:
    """Forward until SIGTERM."""
    asyncio.run(_run())
