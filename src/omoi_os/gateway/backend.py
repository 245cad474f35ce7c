"""Runs `git http-backend` for one request, streaming both ways."""

import asyncio
import logging
from collections.abc import AsyncIterator, Mapping, Sequence
from contextlib import suppress
from email.parser import BytesHeaderParser

from aiohttp import web

from omoi_os.errors import ForgeError
from omoi_os.forges.git import MEMORY_BYTES, end_group, environment, limited

log = logging.getLogger(__name__)

_CHUNK_BYTES = 64 * 1024
_MAX_HEAD_BYTES = 16 * 1024
#: A clone or push that takes longer has hung.
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
) -> web.StreamResponse:
    """Answer with what git says. The process is gone when this returns, however it ends.

    `descriptors` are open in git and in what it starts. Each of these processes may allocate `memory`; one that needs
    more fails, and its client is told.
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
    complaints = asyncio.create_task(_last_words(process.stderr))
    try:
        async with asyncio.timeout(_MAX_SECONDS):
            response = await _pass_back(request, process.stdout)
            await process.wait()
            await sending
        if words := await complaints:
            log.info("git http-backend %s: %s", request.path, words)
        return response
    finally:
        sending.cancel()
        complaints.cancel()
        await asyncio.gather(sending, complaints, return_exceptions=True)
        if process.returncode is None:
            await end_group(process)


async def _send(stdin: asyncio.StreamWriter, body: AsyncIterator[bytes]) -> None:
    async for chunk in body:
        # Git may answer and end before it has read everything; its client listens only once it has sent it.
        with suppress(ConnectionError):
            stdin.write(chunk)
            await stdin.drain()
    stdin.close()


async def _pass_back(request: web.Request, stdout: asyncio.StreamReader) -> web.StreamResponse:
    try:
        head = BytesHeaderParser().parsebytes(await stdout.readuntil(b"\r\n\r\n"))
    except (asyncio.IncompleteReadError, asyncio.LimitOverrunError) as error:
        raise ForgeError("git ended without an answer; the gateway's log says why") from error
    status = int(head.get("Status", "200").split()[0])
    headers = {name: head[name] for name in _RESPONSE_HEADERS if name in head}
    response = web.StreamResponse(status=status, headers=headers)
    await response.prepare(request)
    while chunk := await stdout.read(_CHUNK_BYTES):
        await response.write(chunk)
    await response.write_eof()
    return response


async def _last_words(stderr: asyncio.StreamReader) -> str:
    words = b""
    while chunk := await stderr.read(4096):
        words = (words + chunk)[-2000:]
    return words.decode(errors="replace").strip()
