"""Runs `git http-backend` for one request, streaming both ways."""

import asyncio
import logging
from collections.abc import AsyncIterator, Awaitable, Callable, Mapping, Sequence
from contextlib import suppress
from email.parser import BytesHeaderParser

from aiohttp import web

from omoi_os.errors import ForgeError
from omoi_os.forges.bare.git import MEMORY_BYTES, end_group, environment, limited

log = logging.getLogger(__name__)

_CHUNK_BYTES = 64 * 1024
_MAX_HEAD_BYTES = 16 * 1024
_MAX_REPORT_BYTES = 8 * 1024 * 1024
#: A clone or push that takes longer hangs.
_MAX_SECONDS = 3600
_RESPONSE_HEADERS = ("Content-Type", "Cache-Control", "Expires", "Pragma")


async def serve(
    request: web.Request,
    variables: Mapping[str, str],
    *,
    config: Mapping[str, str],
    body: AsyncIterator[bytes],
    descriptors: Sequence[int] = (),
    memory: int = MEMORY_BYTES,
    before_answer: Callable[[], Awaitable[None]] | None = None,
) -> web.StreamResponse:
    """Answer with the output of git. The process has ended when this returns, however it returns.

    `descriptors` stay open in git and in the processes that it starts. Each of them may allocate `memory`; one that
    needs more fails, and the client gets an error. With `before_answer`, the client gets its answer after git has
    ended and the function has returned.
    """
    process = await asyncio.create_subprocess_exec(
        *limited("git", "http-backend", memory=memory),
        stdin=asyncio.subprocess.PIPE,
        stdout=asyncio.subprocess.PIPE,
        stderr=asyncio.subprocess.PIPE,
        env={**environment(config), **variables},
        cwd="/",
        start_new_session=True,
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
            if before_answer is None:
                response = await _pass_back(request, process.stdout)
            else:
                response = await _pass_back(request, await _withheld(process.stdout, before_answer))
            await process.wait()
            await sending
        if last := await errors:
            log.info("git http-backend %s: %s", request.path, last)
        return response
    finally:
        sending.cancel()
        errors.cancel()
        await asyncio.gather(sending, errors, return_exceptions=True)
        if process.returncode is None:
            await end_group(process)


async def _send(stdin: asyncio.StreamWriter, body: AsyncIterator[bytes]) -> None:
    async for chunk in body:
        # Git may answer and end before it has read everything, but the client reads only after it has sent it.
        with suppress(ConnectionError):
            stdin.write(chunk)
            await stdin.drain()
    stdin.close()


async def _withheld(stdout: asyncio.StreamReader, before: Callable[[], Awaitable[None]]) -> asyncio.StreamReader:
    """Read the whole answer, call `before`, then return the answer. It is short: one line for each ref of a push."""
    answer = asyncio.StreamReader(limit=_MAX_HEAD_BYTES)
    size = 0
    while chunk := await stdout.read(_CHUNK_BYTES):
        size += len(chunk)
        if size > _MAX_REPORT_BYTES:
            raise ForgeError("git answered a push with more output than the gateway passes on")
        answer.feed_data(chunk)
    answer.feed_eof()
    await before()
    return answer


async def _pass_back(request: web.Request, stdout: asyncio.StreamReader) -> web.StreamResponse:
    """Turn the CGI output into a response."""
    try:
        head = BytesHeaderParser().parsebytes(await stdout.readuntil(b"\r\n\r\n"))
    except (asyncio.IncompleteReadError, asyncio.LimitOverrunError) as error:
        raise ForgeError("git ended without an answer; see the gateway's log") from error
    status = int(head.get("Status", "200").split()[0])
    headers = {name: head[name] for name in _RESPONSE_HEADERS if name in head}
    response = web.StreamResponse(status=status, headers=headers)
    await response.prepare(request)
    while chunk := await stdout.read(_CHUNK_BYTES):
        await response.write(chunk)
    await response.write_eof()
    return response


async def _last_output(stderr: asyncio.StreamReader) -> str:
    last = b""
    while chunk := await stderr.read(4096):
        last = (last + chunk)[-2000:]
    return last.decode(errors="replace").strip()
