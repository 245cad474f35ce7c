"""Talking with one of our programs inside, over the engine's attached streams."""

import contextlib
import json
import socket
import time
from collections.abc import Iterator
from typing import Any

from omoi_os.errors import ProviderError, ProviderUnavailable
from omoi_os.providers.docker.inside import wire

#: How the engine marks what goes to standard output; the other stream is for people.
_STDOUT = 1
_HEADER_BYTES = 8
_CHUNK = 256 * 1024
_MAX_FRAME_BYTES = 4 * 1024 * 1024
_MAX_COMPLAINT_BYTES = 4096


class Conversation:
    """A stream that the engine attached to a process. It is used by one thread; any may `give_up`."""

    def __init__(self, stream: Any, *, seconds: float) -> None:
        self._stream = stream
        self._socket: socket.socket = getattr(stream, "_sock", stream)
        self._deadline = time.monotonic() + seconds
        self._buffer = bytearray()
        #: What the engine or the program said to people: why it could not be started, for one.
        self.complaint = bytearray()

    def ask(self, request: bytes) -> None:
        """Send a request. A process that has ended already is seen by the answer."""
        with contextlib.suppress(BrokenPipeError, ConnectionResetError):
            self._socket.settimeout(self._left())
            self._socket.sendall(request)

    def give_up(self) -> None:
        """End the program's input, at which it ends what it does."""
        with contextlib.suppress(OSError):
            self._socket.shutdown(socket.SHUT_WR)

    def frames(self) -> Iterator[tuple[int, bytes]]:
        """The frames of its answer, until the program ends."""
        said = bytearray()
        for chunk in self._output():
            said += chunk
            while len(said) >= wire.HEADER_BYTES:
                size = wire.HEADER_BYTES + int.from_bytes(said[1 : wire.HEADER_BYTES], "big")
                if size > _MAX_FRAME_BYTES:
                    raise ProviderError("What came out of the sandbox makes no sense.")
                if len(said) < size:
                    break
                yield said[0], bytes(said[wire.HEADER_BYTES : size])
                del said[:size]

    def lines(self) -> Iterator[dict[str, Any]]:
        """The lines that it says, until the program ends."""
        said = bytearray()
        for chunk in self._output():
            said += chunk
            while (end := said.find(b"\n")) >= 0:
                yield json.loads(said[:end])
                del said[: end + 1]

    def close(self) -> None:
        """Let go of the stream."""
        # The client hangs the response on the stream; either alone leaves the connection open.
        getattr(self._stream, "_response", self._stream).close()
        self._socket.close()

    def _output(self) -> Iterator[bytes]:
        while header := self._take(_HEADER_BYTES):
            content = self._take(int.from_bytes(header[4:], "big"))
            if header[0] == _STDOUT:
                yield content
            elif len(self.complaint) < _MAX_COMPLAINT_BYTES:
                self.complaint += content

    def _take(self, size: int) -> bytes:
        while len(self._buffer) < size:
            self._socket.settimeout(self._left())
            try:
                chunk = self._socket.recv(_CHUNK)
            except TimeoutError:
                raise ProviderUnavailable("The Docker engine does not answer in time.") from None
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
