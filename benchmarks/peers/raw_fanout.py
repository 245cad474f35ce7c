"""The floor of a fan-out: send every line of standard input to each of N TCP connections."""

import asyncio
import sys
import time

import uvloop

_SIZE = 480


class _Peer(asyncio.Protocol):
    def __init__(self, peers: list[asyncio.BaseTransport], complete: asyncio.Event) -> None:
        self._peers = peers
        self._complete = complete

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        self._peers.append(transport)
        if len(self._peers) == int(sys.argv[1]):
            self._complete.set()


async def _main() -> None:
    loop = asyncio.get_running_loop()
    peers: list[asyncio.BaseTransport] = []
    complete = asyncio.Event()
    server = await loop.create_server(lambda: _Peer(peers, complete), "127.0.0.1", 0, backlog=2048)
    reader = asyncio.StreamReader()
    await loop.connect_read_pipe(lambda: asyncio.StreamReaderProtocol(reader), sys.stdin)
    print(server.sockets[0].getsockname()[1], flush=True)
    while await reader.readline():
        # The kernel has accepted all connections before this process does.
        await complete.wait()
        line = f'{{"t": {time.time()}}}'.encode().ljust(_SIZE)
        for peer in peers:
            peer.write(line)  # type: ignore[attr-defined]


if __name__ == "__main__":
    uvloop.run(_main())
