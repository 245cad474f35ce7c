"""The gateway port in front of a real unix socket."""

import asyncio
from collections.abc import AsyncIterator
from pathlib import Path

import pytest

from omoi_os.worker.command import gateway_port_argv
from omoi_os.worker.reporter.gateway_port import open_gateway_port


async def _echo(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
    writer.write(b"echo:" + await reader.read())
    writer.write_eof()
    await writer.drain()
    writer.close()


async def ask(port: int, question: bytes) -> bytes:
    """Send, close the sending side and read all of the answer."""
    reader, writer = await asyncio.open_connection("127.0.0.1", port)
    writer.write(question)
    writer.write_eof()
    try:
        return await asyncio.wait_for(reader.read(), 30)
    finally:
        writer.close()


@pytest.fixture
async def port(root: Path) -> AsyncIterator[int]:
    server = await open_gateway_port(root / "gateway.sock", port=0, wait=20)
    yield server.sockets[0].getsockname()[1]
    server.close()
    await server.wait_closed()


async def test_bytes_go_both_ways_and_a_half_closed_connection_still_answers(root: Path, port: int) -> None:
    async with await asyncio.start_unix_server(_echo, root / "gateway.sock"):
        assert await ask(port, b"x" * 300_000) == b"echo:" + b"x" * 300_000


async def test_a_restarted_listener_is_found_again(root: Path, port: int) -> None:
    socket = root / "gateway.sock"
    async with await asyncio.start_unix_server(_echo, socket):
        assert await ask(port, b"one") == b"echo:one"
    socket.unlink(missing_ok=True)

    waiting = asyncio.create_task(ask(port, b"two"))
    async with await asyncio.start_unix_server(_echo, socket):
        assert await waiting == b"echo:two"


async def test_a_caller_is_let_go_when_the_gateway_stays_away(root: Path) -> None:
    server = await open_gateway_port(root / "gateway.sock", port=0, wait=0.05)
    assert await ask(server.sockets[0].getsockname()[1], b"anyone?") == b""
    server.close()
    await server.wait_closed()


async def test_the_forwarder_alone_runs_until_sigterm_and_then_goes_quietly(root: Path) -> None:
    # The second connection is still in use when the signal arrives.
    script = (
        "import os, socket; s, held = (socket.create_connection(('127.0.0.1', 8901)) for _ in range(2));"
        "s.sendall(b'hi'); s.shutdown(1); print(s.recv(99).decode(), flush=True);"
        "held.sendall(b'x'); os.kill(int(os.environ['FORWARDER']), 15); held.recv(1)"
    )
    shell = (
        'ip link set lo up; "$@" & export FORWARDER=$!; '
        'until python3 -c "$SCRIPT" 2>/dev/null; do :; done; wait $FORWARDER; echo $?'
    )
    # Its own network namespace, as in a sandbox: the port is fixed.
    async with await asyncio.start_unix_server(_echo, root / "gateway.sock"):
        process = await asyncio.create_subprocess_exec(
            *("unshare", "--net", "--map-root-user", "--user", "sh", "-c", shell, "sh", *gateway_port_argv()),
            env={"PATH": "/usr/sbin:/usr/bin:/sbin:/bin", "OMOI_GATEWAY_FOLDER": str(root), "SCRIPT": script},
            stdout=asyncio.subprocess.PIPE,
            stderr=asyncio.subprocess.PIPE,
        )
        async with asyncio.timeout(60):
            out, said = await process.communicate()

    assert (out.split(), said) == ([b"echo:hi", b"0"], b"")
