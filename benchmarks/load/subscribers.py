"""Many cheap subscribers in one program, recording when each line reaches each of them.

Usage: subscribers PORT TOKEN, then a JSON list on the first line of the input: a query for each subscriber, or null for
a bare TCP connection. It prints `ready`, and for every further line of the input what arrived since the last one.
"""

import asyncio
import contextlib
import json
import re
import sys
import time

import uvloop

_SENT = re.compile(rb'"t" ?: ?([0-9.]+)')
_AT_ONCE = 50


class _Subscriber(asyncio.Protocol):
    """Open the WebSocket if there is a query, then record the time and the `t` of every line."""

    def __init__(self, request: bytes | None, arrivals: list[tuple[float, float]]) -> None:
        self._request = request
        self._arrivals = arrivals
        self._rest = b""
        self.opened = asyncio.get_running_loop().create_future()

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        if self._request is None:
            self.opened.set_result(None)
        else:
            transport.write(self._request)  # type: ignore[attr-defined]

    def data_received(self, data: bytes) -> None:
        now = time.time()
        if not self.opened.done():
            self._rest += data
            if b"\r\n\r\n" in self._rest:
                head, _, self._rest = self._rest.partition(b"\r\n\r\n")
                if not head.startswith(b"HTTP/1.1 101"):
                    raise RuntimeError(head.decode())
                self.opened.set_result(None)
            return
        # A line may arrive in two parts, but its `t` is never split.
        for found in _SENT.findall(data):
            self._arrivals.append((now, float(found)))


async def _main(port: int, token: str) -> None:
    loop = asyncio.get_running_loop()
    reader = asyncio.StreamReader(limit=1 << 24)
    await loop.connect_read_pipe(lambda: asyncio.StreamReaderProtocol(reader), sys.stdin)
    arrivals: list[tuple[float, float]] = []
    gate = asyncio.Semaphore(_AT_ONCE)

    async def open_one(query: str | None) -> None:
        request = None if query is None else _request(query, port, token)
        async with gate:
            _, made = await loop.create_connection(lambda: _Subscriber(request, arrivals), "127.0.0.1", port)
            await made.opened

    await asyncio.gather(*(open_one(query) for query in json.loads(await reader.readline())))
    print("ready", flush=True)
    while await reader.readline():
        print(json.dumps(arrivals), flush=True)
        arrivals.clear()


def _request(query: str, port: int, token: str) -> bytes:
    return (
        f"GET /api/v1/ws/events?{query} HTTP/1.1\r\nHost: 127.0.0.1:{port}\r\nConnection: Upgrade\r\n"
        "Upgrade: websocket\r\nSec-WebSocket-Version: 13\r\nSec-WebSocket-Key: dGhlIHNhbXBsZSBub25jZQ==\r\n"
        f"Authorization: Bearer {token}\r\n\r\n"
    ).encode()


if __name__ == "__main__":
    with contextlib.suppress(KeyboardInterrupt):
        uvloop.run(_main(int(sys.argv[1]), sys.argv[2]))
