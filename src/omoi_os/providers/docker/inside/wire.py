"""What both sides of a container's wall say to each other: one request in, lines or frames out."""

import json
import os
from typing import Any

#: The longest request, without the bytes that go with it.
MAX_REQUEST_BYTES = 16 * 1024 * 1024

#: The kinds of frames: a command's two outputs, a file's content, and the end.
STDOUT, STDERR, CONTENT, END = 1, 2, 3, 4

HEADER_BYTES = 5
_CHUNK = 65536


def pack_request(fields: dict[str, Any], given: bytes = b"") -> bytes:
    """A request and the bytes that go with it."""
    document = json.dumps({**fields, "given": len(given)}).encode()
    if len(document) > MAX_REQUEST_BYTES:
        raise ValueError(f"it is longer than {MAX_REQUEST_BYTES} bytes")
    return len(document).to_bytes(4, "big") + document + given


def read_request(fd: int) -> tuple[dict[str, Any], int]:
    """The request, and a descriptor of a file in memory that holds its bytes. Raises `EOFError`."""
    size = int.from_bytes(_read_exactly(fd, 4), "big")
    if size > MAX_REQUEST_BYTES:
        raise EOFError("the request is too long")
    fields: dict[str, Any] = json.loads(_read_exactly(fd, size))
    given = os.memfd_create("given")
    left = int(fields["given"])
    while left:
        chunk = os.read(fd, min(left, _CHUNK))
        if not chunk:
            raise EOFError("the request was cut off")
        left -= len(chunk)
        write_all(given, chunk)
    os.lseek(given, 0, os.SEEK_SET)
    return fields, given


def frame(kind: int, content: bytes) -> bytes:
    """One frame of what goes out."""
    return bytes([kind]) + len(content).to_bytes(4, "big") + content


def encode(fields: dict[str, Any]) -> bytes:
    """What an end frame holds."""
    return json.dumps(fields).encode()


def decode(content: bytes) -> dict[str, Any]:
    """The same, read back."""
    fields: dict[str, Any] = json.loads(content)
    return fields


def say(fields: dict[str, Any]) -> None:
    """One line on standard output, which for the holder is the container's log."""
    write_all(1, encode(fields) + b"\n")


def write_all(fd: int, content: bytes) -> None:
    """Write everything, however little the other side takes at a time."""
    view = memoryview(content)
    while view:
        view = view[os.write(fd, view) :]


def _read_exactly(fd: int, size: int) -> bytes:
    parts = bytearray()
    while len(parts) < size:
        chunk = os.read(fd, min(size - len(parts), _CHUNK))
        if not chunk:
            raise EOFError("the request was cut off")
        parts += chunk
    return bytes(parts)
