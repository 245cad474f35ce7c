"""HTTP on the wire with bounded heads, and an end to waiting for a request that does not come."""

import asyncio
from collections.abc import Callable
from typing import Any

from starlette.types import Scope
from uvicorn.protocols.http.httptools_impl import HttpToolsProtocol

MAX_HEAD_BYTES = 64 * 1024
MAX_HEADERS = 100
HEAD_SECONDS = 10.0
#: A body has as long as a head, and a second more for each of these many bytes; one that does not say how long it is
#: has as long as the largest.
BODY_BYTES_PER_SECOND = 512 * 1024
MAX_BODY_SECONDS = 140.0

_TIMED_OUT = (
    b"HTTP/1.1 408 Request Timeout\r\nContent-Type: text/plain; charset=utf-8\r\nContent-Length: 35\r\n"
    b"Connection: close\r\n\r\nthe request took too long to arrive"
)


#: The extension of a request's scope that tells whether whoever sent it has hung up.
GONE = "omoi.gone"
#: The extension that ends its connection at once, with whatever was not sent yet.
CUT = "omoi.cut"


def cut(scope: Scope) -> None:
    """End the connection of a request without waiting until the client has read what was sent."""
    end: Callable[[], None] | None = (scope.get("extensions") or {}).get(CUT)
    if end is not None:
        end()


def gone(scope: Scope) -> Callable[[], bool]:
    """Asks whether the sender of a request has hung up; where nobody knows, they have not."""
    asked: Callable[[], bool] = (scope.get("extensions") or {}).get(GONE, _still_there)
    return asked


def _still_there() -> bool:
    return False


class TooManyHeaders(Exception):
    """Ends the parsing of a request."""


class Wire(HttpToolsProtocol):
    """uvicorn's protocol, which has no limit of its own for what comes before a body."""

    _timer: asyncio.TimerHandle | None = None
    _head = 0
    _in_head = True
    _open = True

    def connection_made(self, transport: asyncio.Transport) -> None:  # type: ignore[override]
        """Wait for a first request, not for ever."""
        super().connection_made(transport)
        self._arm(HEAD_SECONDS)

    def connection_lost(self, exc: Exception | None) -> None:
        """Nothing more is waited for."""
        self._disarm()
        super().connection_lost(exc)

    def data_received(self, data: bytes) -> None:
        """Take in what came. A request that came whole needs no timer."""
        was_in_head = self._in_head
        self._head += len(data)
        super().data_received(data)
        if self._in_head and self._head > MAX_HEAD_BYTES and not self.transport.is_closing():
            self.send_400_response("The head of the request is too large.")
        if not self._open or self.transport.is_closing():
            self._disarm()
        elif self._timer is None or was_in_head != self._in_head:
            self._arm(HEAD_SECONDS if self._in_head else self._body_seconds())

    def on_message_begin(self) -> None:
        """A request begins."""
        super().on_message_begin()
        extensions: dict[str, Any] = {GONE: self._is_gone, CUT: self.transport.abort}
        self.scope["extensions"] = extensions
        self._open = self._in_head = True

    def on_header(self, name: bytes, value: bytes) -> None:
        """One header of few."""
        if len(self.headers) >= MAX_HEADERS:
            raise TooManyHeaders
        super().on_header(name, value)

    def on_headers_complete(self) -> None:
        """The head is over."""
        self._in_head, self._head = False, 0
        super().on_headers_complete()

    def on_message_complete(self) -> None:
        """The request is over."""
        self._open, self._head = False, 0
        super().on_message_complete()

    def _is_gone(self) -> bool:
        return self.transport.is_closing()

    def _body_seconds(self) -> float:
        declared = next((value for name, value in self.headers if name == b"content-length"), b"")
        if not declared.isdigit() or len(declared) > 18:
            return MAX_BODY_SECONDS
        return min(MAX_BODY_SECONDS, HEAD_SECONDS + int(declared) / BODY_BYTES_PER_SECOND)

    def _arm(self, seconds: float) -> None:
        self._disarm()
        self._timer = self.loop.call_later(seconds, self._give_up)

    def _disarm(self) -> None:
        if self._timer is not None:
            self._timer.cancel()
            self._timer = None

    def _give_up(self) -> None:
        self._timer = None
        cycle: Any = self.cycle
        if cycle is None or cycle.response_complete or not cycle.response_started:
            self.transport.write(_TIMED_OUT)
        self.transport.close()
