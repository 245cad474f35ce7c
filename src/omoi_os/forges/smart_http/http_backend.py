"""Runs `git http-backend` for one request, streaming both ways."""

import asyncio
import logging
from collections.abc import AsyncIterator, Awaitable, Callable, Mapping, Sequence
from contextlib import asynccontextmanager, suppress
from dataclasses import dataclass
from email.parser import BytesHeaderParser

from omoi_os.errors import ForgeError
from omoi_os.forges.bare.git import MEMORY_BYTES, end_group, environment, limited, start

log = logging.getLogger(__name__)

_CHUNK_BYTES = 64 * 1024
_MAX_HEAD_BYTES = 16 * 1024
_MAX_REPORT_BYTES = 8 * 1024 * 1024
#: A clone or push that takes longer hangs.
_MAX_SECONDS = 3600
_RESPONSE_HEADERS = ("Content-Type", "Cache-Control", "Expires", "Pragma")


@dataclass(frozen=True, slots=True)
class Answer:
    """Git's answer to one request. `pieces` is read no faster than the client reads."""

    status: int
    headers: Mapping[str, str]
    pieces: AsyncIterator[bytes]


@asynccontextmanager
async def answering(
    variables: Mapping[str, str],
    *,
    config: Mapping[str, str],
    body: AsyncIterator[bytes],
    descriptors: Sequence[int] = (),
    memory: int = MEMORY_BYTES,
    before_answer: Callable[[], Awaitable[None]] | None = None,
) -> AsyncIterator[Answer]:
    """Run git and provide its answer, which the block passes on. The process has ended when the block has.

    `descriptors` stay open in git and in the processes that it starts. Each of them may allocate `memory`; one that
    needs more fails, and the client gets an error. With `before_answer`, the answer is available after git has ended
    and the function has returned.
    """
    process = await start(
        *limited("git", "http-backend", memory=memory),
        stdin=asyncio.subprocess.PIPE,
        stdout=asyncio.subprocess.PIPE,
        stderr=asyncio.subprocess.PIPE,
        env={**environment(config), **variables},
        limit=_MAX_HEAD_BYTES,
        pass_fds=tuple(descriptors),
    )
    assert process.stdin is not None  # noqa: S101  all three are pipes
    assert process.stdout is not None  # noqa: S101
    assert process.stderr is not None  # noqa: S101
    sending = asyncio.create_task(_send(process.stdin, body))
    errors = asyncio.create_task(_last_output(process.stderr))
    try:
        async with asyncio.timeout(_MAX_SECONDS):
            output = process.stdout
            if before_answer is not None:
                output = await _withheld(output, before_answer)
            status, headers = await _head(output)
            yield Answer(status, headers, _pieces(output))
            await process.wait()
            await sending
        if last := await errors:
            log.info("git http-backend %s: %s", variables.get("PATH_INFO"), last)
    finally:
        sending.cancel()
        errors.cancel()
        await asyncio.gather(sending, errors, return_exceptions=True)
        if process.returncode is None:
            await end_group(process)


async def _send(stdin: asyncio.StreamWriter, body: AsyncIterator[bytes]) -> None:
    try:
        async for chunk in body:
            # Git may answer and end before it has read everything, but the client reads only after it has sent it.
            # After that, uvloop raises `RuntimeError`.
            with suppress(ConnectionError, RuntimeError):
                stdin.write(chunk)
                await stdin.drain()
    finally:
        # Git rejects a body that ends early, because its client has disconnected.
        stdin.close()


async def _withheld(stdout: asyncio.StreamReader, before: Callable[[], Awaitable[None]]) -> asyncio.StreamReader:
    """Read the whole answer, call `before`, then return the answer. It is short: one line for each ref of a push."""
    answer = asyncio.StreamReader(limit=_MAX_HEAD_BYTES)
    size = 0
    while chunk := await stdout.read(_CHUNK_BYTES):
        size += len(chunk)
        if size > _MAX_REPORT_BYTES:
            raise ForgeError("git answered a push with more output than the server forwards")
        answer.feed_data(chunk)
    answer.feed_eof()
    await before()
    return answer


async def _head(output: asyncio.StreamReader) -> tuple[int, dict[str, str]]:
    """Read the head of the CGI output and return the status and the headers."""
    try:
        head = BytesHeaderParser().parsebytes(await output.readuntil(b"\r\n\r\n"))
    except (asyncio.IncompleteReadError, asyncio.LimitOverrunError) as error:
        raise ForgeError("git ended without an answer; see the server's log") from error
    return int(head.get("Status", "200").split()[0]), {name: head[name] for name in _RESPONSE_HEADERS if name in head}


async def _pieces(output: asyncio.StreamReader) -> AsyncIterator[bytes]:
    while chunk := await output.read(_CHUNK_BYTES):
        yield chunk


async def _last_output(stderr: asyncio.StreamReader) -> str:
    last = b""
    while chunk := await stderr.read(4096):
        last = (last + chunk)[-2000:]
    return last.decode(errors="replace").strip()
