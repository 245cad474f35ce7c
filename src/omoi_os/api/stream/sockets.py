"""uvicorn's WebSocket protocol with unbuffered writes and an abort for clients that stall."""

import socket
from typing import Any

from uvicorn.protocols.websockets.websockets_sansio_impl import WebSocketsSansIOProtocol
from websockets.http11 import Request

#: Scope extension: the connection of a request.
EXTENSION = "omoi.socket"
#: Send buffer of the operating system for one client.
SEND_BUFFER_BYTES = 128 * 1024
#: How long a client has to answer a close frame.
CLOSE_SECONDS = 5.0


class StreamSocket(WebSocketsSansIOProtocol):
    """Lets the application write without waiting and see how much is unsent, which ASGI does not offer."""

    def handle_connect(self, event: Request) -> None:
        """Limit the send buffer, and add this connection to the scope."""
        raw = self.transport.get_extra_info("socket")
        if raw is not None:
            raw.setsockopt(socket.SOL_SOCKET, socket.SO_SNDBUF, SEND_BUFFER_BYTES)
        super().handle_connect(event)
        if hasattr(self, "scope"):
            # The application's task is created but has not run yet.
            self.scope["extensions"][EXTENSION] = self  # type: ignore[assignment]

    async def send(self, message: Any) -> None:
        """Send a message. Mark a refused handshake as complete, which the base class would log as an error."""
        await super().send(message)
        if message["type"] == "websocket.http.response.body" and self.close_sent:
            self.handshake_complete = True

    @property
    def buffered(self) -> int:
        """Return the number of bytes that the operating system has not accepted yet."""
        return self.transport.get_write_buffer_size()

    def write(self, frame: bytes) -> None:
        """Send a whole frame; do nothing once the connection is closing."""
        if self.handshake_complete and not self.close_sent and not self.transport.is_closing():
            self.transport.write(frame)

    async def drained(self) -> None:
        """Wait until the transport's buffer is below its limit or the client is gone."""
        await self.writable.wait()

    def hang_up(self, code: int, reason: str) -> None:
        """Close with a reason; abort the connection if the client does not answer in time."""
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
        self.close_timer = self.loop.call_later(CLOSE_SECONDS, self.transport.abort)

    def keepalive_timeout(self) -> None:
        """Close, and abort: a client that answers no ping will not answer a close frame either."""
        super().keepalive_timeout()
        self.loop.call_later(CLOSE_SECONDS, self.transport.abort)


def socket_of(scope: object) -> StreamSocket | None:
    """Return the connection of a request; None if another server handles it."""
    found = scope.get("extensions", {}).get(EXTENSION) if isinstance(scope, dict) else None
    return found if isinstance(found, StreamSocket) else None
