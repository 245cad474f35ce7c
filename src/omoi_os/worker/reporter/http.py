"""A small HTTP/1.1 client on asyncio streams: one request per connection, bounded answers."""

from __future__ import annotations

import asyncio
import contextlib
import json
import socket
from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any
from urllib.parse import urlsplit

MAX_ANSWER_BYTES = 8 * 1024 * 1024
CHUNK_BYTES = 64 * 1024
#: The longest Retry-After that is respected.
MAX_RETRY_AFTER_SECONDS = 60.0


class HttpError(Exception):
    """The request got no complete answer; it may or may not have arrived."""


@dataclass(frozen=True, slots=True)
class FilePart:
    """A part of a file, sent from disk."""

    path: Path
    start: int
    size: int


@dataclass(frozen=True, slots=True)
class Answer:
    """A status, a body and headers with lower-case names."""

    status: int
    body: bytes
    headers: Mapping[str, str] = field(default_factory=dict)

    def json(self) -> dict[str, Any]:
        """Return the body as a JSON object. Raises `HttpError`."""
        try:
            value = json.loads(self.body)
        except ValueError:
            value = None
        if not isinstance(value, dict):
            raise HttpError(f"the answer with status {self.status} is not a JSON object")
        return value

    def retry_after(self) -> float:
        """Return the seconds of Retry-After, or 0."""
        asked = self.headers.get("retry-after", "")
        return min(float(asked), MAX_RETRY_AFTER_SECONDS) if asked.isascii() and asked.isdigit() else 0.0


async def request(
    method: str,
    url: str,
    *,
    headers: Mapping[str, str],
    body: bytes | Path | FilePart = b"",
    timeout: float,
    max_bytes: int = MAX_ANSWER_BYTES,
) -> Answer:
    """Send a request and read its answer. A `Path` or `FilePart` is sent from disk in chunks. Raises `HttpError`."""
    try:
        async with asyncio.timeout(timeout):
            return await _send_request(method, url, headers=headers, body=body, max_bytes=max_bytes)
    except TimeoutError:
        raise HttpError(f"{method} {url}: no answer within {timeout:g} s") from None
    except EOFError:
        raise HttpError(f"{method} {url}: the connection was closed before the answer was complete") from None
    except (OSError, ValueError, asyncio.LimitOverrunError) as error:
        raise HttpError(f"{method} {url}: {error or type(error).__name__}") from error


async def receive(connection: socket.socket, *, timeout: float) -> Answer:
    """Read the answer to a request that was sent on a connection, and close it. Raises `HttpError`."""
    try:
        async with asyncio.timeout(timeout):
            reader, writer = await asyncio.open_connection(sock=connection)
            try:
                return await _read_answer(reader)
            finally:
                writer.transport.abort()
    except (OSError, EOFError, ValueError, asyncio.LimitOverrunError) as error:
        raise HttpError(f"no complete answer to the first event: {error or type(error).__name__}") from error


async def _send_request(
    method: str, url: str, *, headers: Mapping[str, str], body: bytes | Path | FilePart, max_bytes: int
) -> Answer:
    parts = urlsplit(url)
    secure = parts.scheme == "https"
    reader, writer = await asyncio.open_connection(
        parts.hostname, parts.port or (443 if secure else 80), ssl=secure or None
    )
    try:
        size = _size(body)
        target = (parts.path or "/") + (f"?{parts.query}" if parts.query else "")
        lines = [f"{method} {target} HTTP/1.1", f"Host: {parts.netloc}", "Connection: close", f"Content-Length: {size}"]
        lines += [f"{name}: {value}" for name, value in headers.items()]
        writer.write("\r\n".join([*lines, "", ""]).encode("latin-1"))
        # A server may answer and close before it has read the whole body, for example with 413.
        sending = asyncio.ensure_future(_send_body(writer, body, size=size))
        try:
            return await _read_answer(reader, max_bytes)
        finally:
            sending.cancel()
            await asyncio.gather(sending, return_exceptions=True)
    finally:
        # A plain close would first send the rest of the body.
        writer.transport.abort()
        with contextlib.suppress(OSError):
            await writer.wait_closed()


def _size(body: bytes | Path | FilePart) -> int:
    if isinstance(body, FilePart):
        return body.size
    return len(body) if isinstance(body, bytes) else body.stat().st_size


async def _send_body(writer: asyncio.StreamWriter, body: bytes | Path | FilePart, *, size: int) -> None:
    if isinstance(body, bytes):
        writer.write(body)
        await writer.drain()
        return
    path, start = (body.path, body.start) if isinstance(body, FilePart) else (body, 0)
    with path.open("rb") as file:
        file.seek(start)
        while size > 0 and (chunk := file.read(min(CHUNK_BYTES, size))):
            writer.write(chunk)
            await writer.drain()
            size -= len(chunk)


async def _read_answer(reader: asyncio.StreamReader, max_bytes: int = MAX_ANSWER_BYTES) -> Answer:
    while True:
        version, _, rest = (await reader.readuntil(b"\r\n")).decode("latin-1").partition(" ")
        if not version.startswith("HTTP/1."):
            raise ValueError("the server does not speak HTTP/1")
        status = int(rest[:3])
        headers = await _read_headers(reader)
        if status >= 200:
            return Answer(status, await _read_body(reader, headers, max_bytes=max_bytes), headers)


async def _read_headers(reader: asyncio.StreamReader) -> dict[str, str]:
    headers: dict[str, str] = {}
    while (line := await reader.readuntil(b"\r\n")) != b"\r\n":
        name, _, value = line.decode("latin-1").partition(":")
        headers[name.strip().lower()] = value.strip()
        if len(headers) > 200:
            raise ValueError("the answer has too many headers")
    return headers


async def _read_body(reader: asyncio.StreamReader, headers: Mapping[str, str], *, max_bytes: int) -> bytes:
    if headers.get("transfer-encoding", "").lower() == "chunked":
        return await _read_chunks(reader, max_bytes)
    if "content-length" in headers:
        size = int(headers["content-length"])
        if not 0 <= size <= max_bytes:
            raise ValueError("the answer is too large")
        return await reader.readexactly(size)
    body = bytearray()
    while chunk := await reader.read(CHUNK_BYTES):
        body += chunk
        if len(body) > max_bytes:
            raise ValueError("the answer is too large")
    return bytes(body)


async def _read_chunks(reader: asyncio.StreamReader, max_bytes: int) -> bytes:
    body = bytearray()
    while size := int((await reader.readuntil(b"\r\n")).split(b";")[0], 16):
        if size < 0 or len(body) + size > max_bytes:
            raise ValueError("the answer is too large")
        body += await reader.readexactly(size)
        await reader.readexactly(2)
    return bytes(body)
