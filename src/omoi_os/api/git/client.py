"""One request of a git client: its body and its response are streamed, no faster than the other side reads."""

import asyncio
from collections.abc import AsyncIterator
from urllib.parse import parse_qs

from starlette.datastructures import Headers
from starlette.responses import Response
from starlette.types import Message, Receive, Scope, Send

from omoi_os.forges.smart_http.http_backend import Answer
from omoi_os.http import wire

#: A client that reads nothing for this long is disconnected.
STALL_SECONDS = 60.0


class ClientGone(ConnectionError):
    """The client has disconnected."""


class Body:
    """The body of one request."""

    def __init__(self, receive: Receive) -> None:
        self._receive = receive
        self._buffer = bytearray()
        self._has_more = True

    async def readexactly(self, n: int, /) -> bytes:
        """Return the next `n` bytes. Raise `asyncio.IncompleteReadError` if the body ends before."""
        while len(self._buffer) < n:
            if not self._has_more:
                raise asyncio.IncompleteReadError(bytes(self._buffer), n)
            self._buffer += await self._next()
        piece = bytes(self._buffer[:n])
        del self._buffer[:n]
        return piece

    async def pieces(self, *, limit: int, first: bytes = b"") -> AsyncIterator[bytes]:
        """Yield `first` and the rest of the body. A body that is longer than `limit` is cut off."""
        if first:
            yield first
        piece = bytes(self._buffer)
        self._buffer.clear()
        while True:
            limit -= len(piece)
            if limit < 0:
                return
            if piece:
                yield piece
            if not self._has_more:
                return
            piece = await self._next()

    async def drain(self) -> None:
        """Read the rest and drop it: a git client reads the answer only after it has sent everything."""
        while self._has_more:
            await self._next()

    async def _next(self) -> bytes:
        message = await self._receive()
        if message["type"] == "http.disconnect":
            raise ClientGone("the client has disconnected")
        self._has_more = message.get("more_body", False)
        piece: bytes = message.get("body", b"")
        return piece


class Client:
    """One request and its connection."""

    def __init__(self, scope: Scope, receive: Receive, send: Send) -> None:
        self.scope, self._receive, self._send = scope, receive, send
        self.method: str = scope["method"]
        self.raw_path: bytes = scope.get("raw_path") or b""
        self.service = parse_qs(scope.get("query_string", b"").decode("latin-1")).get("service", [""])[0]
        self.headers = Headers(scope=scope)
        self.body = Body(receive)
        self.is_gone = wire.gone(scope)
        self.has_started = False

    async def respond(self, response: Response) -> None:
        """Send a short response."""
        await response(self.scope, self._receive, self._send_in_time)

    async def pass_back(self, answer: Answer) -> None:
        """Pass git's answer on, no faster than the client reads it."""
        headers = [(name.lower().encode("latin-1"), value.encode("latin-1")) for name, value in answer.headers.items()]
        await self._send_in_time({"type": "http.response.start", "status": answer.status, "headers": headers})
        async for piece in answer.pieces:
            await self._send_in_time({"type": "http.response.body", "body": piece, "more_body": True})
        await self._send_in_time({"type": "http.response.body", "body": b"", "more_body": False})

    async def wait_until_gone(self) -> None:
        """Return once the server knows that the client has disconnected, so that it does not miss a response."""
        while (await self._receive())["type"] != "http.disconnect":
            pass

    async def _send_in_time(self, message: Message) -> None:
        self.has_started = True
        try:
            async with asyncio.timeout(STALL_SECONDS):
                await self._send(message)
        except TimeoutError:
            wire.cut(self.scope)
            raise ClientGone("the client has stopped reading") from None
        if self.is_gone() and message.get("more_body", True):
            raise ClientGone("the client has disconnected")
