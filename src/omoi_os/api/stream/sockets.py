"""WebSockets as the stream needs them: whole frames go to the transport, and a client that stalls is cut off."""

import socket
from typing import Any

from uvicorn.protocols.websockets.websockets_sansio_impl import WebSocketsSansIOProtocol
from websockets.http11 import Request

#: The name under which a connection is found in the scope of its request.
EXTENSION = "omoi.socket"
#: What the system keeps for one client that does not read, beside what waits in this process.
SEND_BUFFER_BYTES = 128 * 1024
#: How long a client may take to hear why it is closed.
FAREWELL_SECONDS = 5.0


class StreamSocket(WebSocketsSansIOProtocol):
    """Lets the application write without waiting, which ASGI does not, and look at what the client has not taken."""

    def handle_connect(self, event: Request) -> None:
        """Bound what the system keeps for the client, and be found by the application."""
        raw = self.transport.get_extra_info("socket")
        if raw is not None:
            raw.setsockopt(socket.SOL_SOCKET, socket.SO_SNDBUF, SEND_BUFFER_BYTES)
        super().handle_connect(event)
        if hasattr(self, "scope"):
            # The application's task was made but has not run yet.
            self.scope["extensions"][EXTENSION] = self  # type: ignore[assignment]

    async def send(self, message: Any) -> None:
        """Pass it on. A refusal is an answer: without this, the base takes each for a fault and logs an error."""
        await super().send(message)
        if message["type"] == "websocket.http.response.body" and self.close_sent:
            self.handshake_complete = True

    @property
    def buffered(self) -> int:
        """Bytes that the system has not taken yet."""
        return self.transport.get_write_buffer_size()

    def write(self, frame: bytes) -> None:
        """Hand over a whole frame; nothing happens once the connection closes."""
        if self.handshake_complete and not self.close_sent and not self.transport.is_closing():
            self.transport.write(frame)

    async def drained(self) -> None:
        """Until less waits than the transport's mark, or the client is gone."""
        await self.writable.wait()

    def hang_up(self, code: int, reason: str) -> None:
        """Close with a reason; whoever does not take it is cut off a moment later."""
        if self.close_sent or self.transport.is_closing():
            return
        self.stop_keepalive()
        self.queue.put_nowait({"type": "websocket.disconnect", "code": code, "reason": reason})
        self.conn.send_close(code, reason)
        self.transport.write(b"".join(self.conn.data_to_send()))
        self.close_sent = True
        if self.read_paused:
            self.read_paused = False
            self.transport.resume_reading()
        self.close_timer = self.loop.call_later(FAREWELL_SECONDS, self.transport.abort)

    def keepalive_timeout(self) -> None:
        """A client that answers no ping does not take the farewell either."""
        super().keepalive_timeout()
        self.loop.call_later(FAREWELL_SECONDS, self.transport.abort)


def socket_of(scope: object) -> StreamSocket | None:
    """The connection behind a request, if this server made it."""
    found = scope.get("extensions", {}).get(EXTENSION) if isinstance(scope, dict) else None
    return found if isinstance(found, StreamSocket) else None
