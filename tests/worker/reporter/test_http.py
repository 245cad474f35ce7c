"""The HTTP client against servers that answer in every legal way, and in some illegal ones."""

import asyncio
import contextlib
from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import AbstractAsyncContextManager, asynccontextmanager
from pathlib import Path

import pytest

from omoi_os.worker.reporter.http import Answer, HttpError, request

Handler = Callable[[asyncio.StreamReader, asyncio.StreamWriter], Awaitable[None]]


@asynccontextmanager
async def serving(handler: Handler) -> AsyncIterator[str]:
    """Run a server of bytes, and close its connections at the end."""
    tasks: list[asyncio.Task[None]] = []

    async def serve(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        try:
            await handler(reader, writer)
        finally:
            writer.close()
            with contextlib.suppress(OSError):
                await writer.wait_closed()

    def connected(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        tasks.append(asyncio.create_task(serve(reader, writer)))

    server = await asyncio.start_server(connected, "127.0.0.1", 0)
    async with server:
        yield f"http://127.0.0.1:{server.sockets[0].getsockname()[1]}"
        await asyncio.gather(*tasks, return_exceptions=True)


def answering(answer: bytes, *, seen: list[bytes] | None = None) -> AbstractAsyncContextManager[str]:
    """A server that reads one request and answers with these bytes."""

    async def handler(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        head = await reader.readuntil(b"\r\n\r\n")
        size = int(head.lower().split(b"content-length: ")[1].split(b"\r\n")[0])
        body = await reader.readexactly(size)
        if seen is not None:
            seen.extend([head, body])
        writer.write(answer)
        await writer.drain()

    return serving(handler)


async def get(url: str) -> tuple[int, bytes]:
    answer = await request("GET", url + "/x?y=1", headers={"A": "b"}, timeout=20)
    return answer.status, answer.body


@pytest.mark.parametrize(
    "wire",
    [
        b"HTTP/1.1 200 OK\r\nContent-Length: 5\r\n\r\nhello",
        b"HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n2\r\nhe\r\n3;x=y\r\nllo\r\n0\r\n\r\n",
        b"HTTP/1.0 200 OK\r\n\r\nhello",
        b"HTTP/1.1 100 Continue\r\n\r\nHTTP/1.1 200 OK\r\nContent-Length: 5\r\n\r\nhello",
    ],
)
async def test_every_framing_of_an_answer_is_understood(wire: bytes) -> None:
    seen: list[bytes] = []
    async with answering(wire, seen=seen) as url:
        assert await get(url) == (200, b"hello")
    assert seen[0].startswith(b"GET /x?y=1 HTTP/1.1\r\n")
    assert b"\r\nA: b\r\n" in seen[0]


@pytest.mark.parametrize(
    "wire",
    [
        b"",
        b"SSH-2.0-OpenSSH\r\n\r\n",
        b"HTTP/1.1 abc\r\n\r\n",
        b"HTTP/1.1 200 OK\r\nContent-Length: 50\r\n\r\nhello",
        b"HTTP/1.1 200 OK\r\nContent-Length: -1\r\n\r\n",
        b"HTTP/1.1 200 OK\r\nContent-Length: 99999999999\r\n\r\n",
        b"HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\nzz\r\n",
        b"HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\nfffffffff\r\n",
        b"HTTP/1.1 200 OK\r\nX: " + b"x" * 100_000,
    ],
)
async def test_a_broken_answer_is_one_error(wire: bytes) -> None:
    async with answering(wire) as url:
        with pytest.raises(HttpError):
            await get(url)


async def test_a_server_that_is_not_there_is_the_same_error() -> None:
    with pytest.raises(HttpError):
        await get("http://127.0.0.1:1")


async def test_a_server_that_never_answers_is_given_up() -> None:
    async def silent(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        await reader.read()

    async with serving(silent) as url:
        with pytest.raises(HttpError, match=r"no answer within 0\.05 s"):
            await request("GET", url, headers={}, timeout=0.05)


async def test_a_file_is_sent_from_disk(root: Path) -> None:
    content = bytes(range(256)) * 2000
    (root / "file").write_bytes(content)
    seen: list[bytes] = []
    async with answering(b"HTTP/1.1 204 No Content\r\nContent-Length: 0\r\n\r\n", seen=seen) as url:
        answer = await request("PUT", url, headers={}, body=root / "file", timeout=20)

    assert (answer.status, seen[1]) == (204, content)


@pytest.mark.parametrize(
    ("asked", "seconds"),
    [
        ("2", 2.0),
        ("0", 0.0),
        ("9" * 500, 60.0),
        ("", 0.0),
        ("-1", 0.0),
        ("²", 0.0),
        ("Wed, 21 Oct 2015 07:28:00 GMT", 0.0),
    ],
)
def test_a_server_is_left_alone_for_a_bounded_time(asked: str, seconds: float) -> None:
    assert Answer(503, b"", {"retry-after": asked}).retry_after() == seconds
