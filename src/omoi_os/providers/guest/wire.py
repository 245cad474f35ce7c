"""The messages between a provider and an attached guest: one request in, lines or frames out."""

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
    """Encode a request and the bytes that go with it. Raises `ValueError` if it is too long."""
    document = json.dumps({**fields, "given": len(given)}).encode()
    if len(document) > MAX_REQUEST_BYTES:
        raise ValueError(f"the request is longer than {MAX_REQUEST_BYTES} bytes")
    return len(document).to_bytes(4, "big") + document + given


def read_request(fd: int) -> tuple[dict[str, Any], int]:
    """Return the request, and a descriptor of a file in memory with its bytes. Raises `EOFError`."""
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
    """Encode one frame of the answer."""
    return bytes([kind]) + len(content).to_bytes(4, "big") + content


def encode(fields: dict[str, Any]) -> bytes:
    """Encode the content of an end frame."""
    return json.dumps(fields).encode()


def decode(content: bytes) -> dict[str, Any]:
    """Decode the content of an end frame."""
    fields: dict[str, Any] = json.loads(content)
    return fields


def write_line(fields: dict[str, Any]) -> None:
    """Write one line to standard output, which for a first process is the container's log."""
    write_all(1, encode(fields) + b"\n")


def write_all(fd: int, content: bytes) -> None:
    """Write everything, in as many parts as the reader needs."""
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
