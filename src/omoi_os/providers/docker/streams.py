"""The streams of a guest that the engine attaches us to."""

import contextlib
import json
import socket
import time
from collections.abc import Iterator
from typing import Any

from omoi_os.errors import ProviderError, ProviderUnavailable
from omoi_os.providers.guest import wire

#: How the engine marks standard output; the other stream is for people.
_STDOUT = 1
_HEADER_BYTES = 8
_CHUNK = 256 * 1024
_MAX_FRAME_BYTES = 4 * 1024 * 1024
_MAX_MESSAGE_BYTES = 4096


class GuestStream:
    """A stream that is attached to a process. One thread uses it; any thread may call `end_input`."""

    def __init__(self, stream: Any, *, seconds: float) -> None:
        self._stream = stream
        self._socket: socket.socket = getattr(stream, "_sock", stream)
        self._deadline = time.monotonic() + seconds
        self._buffer = bytearray()
        #: What the engine or the program wrote for people, for example why it could not be started.
        self.message = bytearray()

    def send(self, request: bytes) -> None:
        """Send a request. If the process has already ended, the answer shows that."""
        with contextlib.suppress(BrokenPipeError, ConnectionResetError):
            self._socket.settimeout(self._left())
            self._socket.sendall(request)

    def end_input(self) -> None:
        """Close the program's input, which makes it end what it does."""
        with contextlib.suppress(OSError):
            self._socket.shutdown(socket.SHUT_WR)

    def frames(self) -> Iterator[tuple[int, bytes]]:
        """Yield the frames of its answer until the program ends."""
        received = bytearray()
        for chunk in self._output():
            received += chunk
            while len(received) >= wire.HEADER_BYTES:
                size = wire.HEADER_BYTES + int.from_bytes(received[1 : wire.HEADER_BYTES], "big")
                if size > _MAX_FRAME_BYTES:
                    raise ProviderError("The sandbox sent an answer that cannot be read.")
                if len(received) < size:
                    break
                yield received[0], bytes(received[wire.HEADER_BYTES : size])
                del received[:size]

    def lines(self) -> Iterator[dict[str, Any]]:
        """Yield the lines that it prints until the program ends."""
        received = bytearray()
        for chunk in self._output():
            received += chunk
            while (end := received.find(b"\n")) >= 0:
                yield json.loads(received[:end])
                del received[: end + 1]

    def close(self) -> None:
        """Close the stream."""
        # The response and the socket are closed: either alone leaves the connection open.
        getattr(self._stream, "_response", self._stream).close()
        self._socket.close()

    def _output(self) -> Iterator[bytes]:
        while header := self._take(_HEADER_BYTES):
            content = self._take(int.from_bytes(header[4:], "big"))
            if header[0] == _STDOUT:
                yield content
            elif len(self.message) < _MAX_MESSAGE_BYTES:
                self.message += content

    def _take(self, size: int) -> bytes:
        while len(self._buffer) < size:
            self._socket.settimeout(self._left())
            try:
                chunk = self._socket.recv(_CHUNK)
            except TimeoutError:
                raise ProviderUnavailable("The Docker engine did not answer in time.") from None
            except ConnectionResetError:
                chunk = b""
            if not chunk:
                return b""
            self._buffer += chunk
        content = bytes(self._buffer[:size])
        del self._buffer[:size]
        return content

    def _left(self) -> float:
        return max(0.001, self._deadline - time.monotonic())
