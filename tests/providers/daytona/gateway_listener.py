"""A way for sandboxes without a network to reach one TCP port of this machine at the same address."""

import asyncio
import contextlib
from pathlib import Path

from omoi_os.protocol import paths

_SOCKET = "port.sock"

#: The first process of a sandbox that stands for a machine of Daytona's: listens on the port, or only waits.
INSIDE = f"""
import asyncio, sys

async def pump(reader, writer):
    try:
        while chunk := await reader.read(65536):
            writer.write(chunk)
            await writer.drain()
    except OSError:
        pass
    finally:
        writer.close()

async def accept(reader, writer):
    try:
        far_reader, far_writer = await asyncio.open_unix_connection("{paths.GATEWAY_FOLDER}/{_SOCKET}")
    except OSError:
        writer.close()
        return
    await asyncio.gather(pump(reader, far_writer), pump(far_reader, writer))

async def main():
    port = int(sys.argv[1])
    server = await asyncio.start_server(accept, "127.0.0.1", port) if port else None
    await asyncio.Event().wait()

asyncio.run(main())
"""


class GatewaySocket:
    """Serves the socket that sandboxes see, leading to the port."""

    def __init__(self, folder: Path, port: int | None) -> None:
        self.folder = folder
        self._port = port
        self._server: asyncio.Server | None = None

    async def open(self) -> None:
        self.folder.mkdir(parents=True, exist_ok=True)
        self.folder.chmod(0o755)
        if self._port is not None:
            path = self.folder / _SOCKET
            self._server = await asyncio.start_unix_server(self._accept, path)
            path.chmod(0o666)

    async def close(self) -> None:
        if self._server is not None:
            self._server.close()
            await self._server.wait_closed()

    async def _accept(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        try:
            far_reader, far_writer = await asyncio.open_connection("127.0.0.1", self._port)
        except OSError:
            writer.close()
            return
        await asyncio.gather(_pump(reader, far_writer), _pump(far_reader, writer))


async def _pump(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
    with contextlib.suppress(OSError):
        while chunk := await reader.read(65536):
            writer.write(chunk)
            await writer.drain()
    writer.close()
