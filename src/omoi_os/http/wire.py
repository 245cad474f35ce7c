"""uvicorn's HTTP protocol with limits for the head of a request, and timeouts for its head and body."""

import asyncio
from collections.abc import Callable
from typing import Any

from starlette.types import Scope
from uvicorn.protocols.http.httptools_impl import HttpToolsProtocol

MAX_HEAD_BYTES = 64 * 1024
MAX_HEADERS = 100
HEAD_SECONDS = 10.0
#: The timeout of a body is that of a head plus one second for this many bytes; without a declared length it is the
#: maximum.
BODY_BYTES_PER_SECOND = 512 * 1024
MAX_BODY_SECONDS = 140.0
#: Timeout for the next piece of a body that may take long as a whole.
STALL_SECONDS = 60.0

_TIMED_OUT = (
    b"HTTP/1.1 408 Request Timeout\r\nContent-Type: text/plain; charset=utf-8\r\nContent-Length: 35\r\n"
    b"Connection: close\r\n\r\nthe request took too long to arrive"
)


#: Scope extension: a function that reports whether the client has disconnected.
GONE = "omoi.gone"
#: Scope extension: a function that aborts the connection and discards unsent data.
CUT = "omoi.cut"
#: Scope extension: a function that replaces the timeout of the whole body by one for each piece.
LONG_BODY = "omoi.long_body"


def cut(scope: Scope) -> None:
    """Abort the connection of a request without waiting until the client has read what was sent."""
    end: Callable[[], None] | None = (scope.get("extensions") or {}).get(CUT)
    if end is not None:
        end()


def allow_long_body(scope: Scope) -> None:
    """Let the body of a request take long as long as pieces of it arrive. Call this for known callers only."""
    allow: Callable[[], None] | None = (scope.get("extensions") or {}).get(LONG_BODY)
    if allow is not None:
        allow()


def gone(scope: Scope) -> Callable[[], bool]:
    """Return a function that reports whether the client has disconnected; without our server it is always False."""
    asked: Callable[[], bool] = (scope.get("extensions") or {}).get(GONE, _still_there)
    return asked


def _still_there() -> bool:
    return False


class TooManyHeaders(Exception):
    """Raised to stop parsing a request with too many headers."""


class Wire(HttpToolsProtocol):
    """uvicorn's protocol, which does not limit the head of a request by itself."""

    _timer: asyncio.TimerHandle | None = None
    _head = 0
    _in_head = True
    _open = True
    _long_body = False

    def connection_made(self, transport: asyncio.Transport) -> None:  # type: ignore[override]
        """Start the timeout for the first request."""
        super().connection_made(transport)
        self._arm(HEAD_SECONDS)

    def connection_lost(self, exc: Exception | None) -> None:
        """Stop the timeout."""
        self._disarm()
        super().connection_lost(exc)

    def data_received(self, data: bytes) -> None:
        """Parse received data. A request that arrived completely needs no timeout."""
        was_in_head = self._in_head
        self._head += len(data)
        super().data_received(data)
        if self._in_head and self._head > MAX_HEAD_BYTES and not self.transport.is_closing():
            self.send_400_response("The head of the request is too large.")
        if not self._open or self.transport.is_closing():
            self._disarm()
        elif self._timer is None or was_in_head != self._in_head:
            self._arm(HEAD_SECONDS if self._in_head else self._body_seconds())
        elif self._long_body:
            self._arm(STALL_SECONDS)

    def on_message_begin(self) -> None:
        """Start the head of a request."""
        super().on_message_begin()
        extensions: dict[str, Any] = {
            GONE: self._is_gone,
            CUT: self.transport.abort,
            LONG_BODY: self._allow_long_body,
        }
        self.scope["extensions"] = extensions
        self._open = self._in_head = True
        self._long_body = False

    def on_header(self, name: bytes, value: bytes) -> None:
        """Add a header; raise `TooManyHeaders` beyond the limit."""
        if len(self.headers) >= MAX_HEADERS:
            raise TooManyHeaders
        super().on_header(name, value)

    def on_headers_complete(self) -> None:
        """Start the body of a request."""
        self._in_head, self._head = False, 0
        super().on_headers_complete()

    def on_message_complete(self) -> None:
        """Finish a request."""
        self._open, self._head = False, 0
        super().on_message_complete()

    def _is_gone(self) -> bool:
        return self.transport.is_closing()

    def _allow_long_body(self) -> None:
        self._long_body = True
        if self._open and not self._in_head:
            self._arm(STALL_SECONDS)

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
        if self._long_body and self.flow.read_paused:
            # The client waits for us.
            self._arm(STALL_SECONDS)
            return
        cycle: Any = self.cycle
        if cycle is None or cycle.response_complete or not cycle.response_started:
            self.transport.write(_TIMED_OUT)
        self.transport.close()
