"""`omoi demo` as a process: the whole path, and a port that another program uses."""

import asyncio
import os
import re
import shutil
import signal
import socket
import sys
import tempfile
from collections.abc import AsyncIterator, Iterator
from pathlib import Path

import pytest

from omoi_os.db import embedded


@pytest.fixture
async def data_dir() -> AsyncIterator[Path]:
    folder = Path(tempfile.mkdtemp(prefix="omoi-", dir="/tmp"))
    yield folder
    await embedded.stop(folder)
    shutil.rmtree(folder)


@pytest.fixture
def listener() -> Iterator[socket.socket]:
    with socket.create_server(("127.0.0.1", 0)) as server:
        yield server


async def demo(data_dir: Path, port: int) -> asyncio.subprocess.Process:
    return await asyncio.create_subprocess_exec(
        *[sys.executable, "-P", "-m", "omoi_os", "demo", "--data-dir", str(data_dir), "--port", str(port)],
        env={"PATH": os.environ["PATH"], "HOME": str(data_dir)},
        stdin=asyncio.subprocess.DEVNULL,
        stdout=asyncio.subprocess.PIPE,
        stderr=asyncio.subprocess.STDOUT,
        # Shells let what they run in the background ignore it, and that is passed on.
        preexec_fn=lambda: signal.signal(signal.SIGINT, signal.SIG_DFL),
    )


async def output(process: asyncio.subprocess.Process) -> str:
    text, _ = await asyncio.wait_for(process.communicate(), 120)
    return text.decode()


SIX_STEPS = r"""\[1/6\] Checking API availability\.\.\. OK
.*
\[2/6\] Creating/finding project kivo360/OmoiOS\.\.\. OK \(project_id: [0-9a-f-]{36}\)
\[3/6\] Creating ticket with math task\.\.\. OK \(ticket_id: [0-9a-f-]{36}\)
\[4/6\] Waiting for task dispatch\.\.\. Task assigned \(task_id: [0-9a-f-]{36}\)
\[5/6\] Sandbox spawned: omoios-[0-9a-f]{8}-[0-9a-f]{6}
(?:.* s  .*\n)*\[6/6\] Task completed! Result:
      C\(50,25\) = 126,410,606,437,752
      Branch: feature/calculate-binomial-coefficient   commit: [0-9a-f]{8}   verified: yes
      Outcome: verified   cost: \$\d+\.\d{4} simulated   tokens: [\d,]+
"""


async def test_it_starts_a_platform_shows_the_six_steps_and_stops_it_again(
    data_dir: Path, listener: socket.socket
) -> None:
    port = listener.getsockname()[1]
    listener.close()

    process = await demo(data_dir, port)
    text = await output(process)

    assert process.returncode == 0, text
    assert re.search(SIX_STEPS, text), text
    assert "scripted model" in text
    assert f"`make run` starts the platform at http://127.0.0.1:{port} and prints a link" in text
    assert not embedded.running(data_dir)


async def test_an_interrupted_demo_stops_its_platform(data_dir: Path, listener: socket.socket) -> None:
    port = listener.getsockname()[1]
    listener.close()
    process = await demo(data_dir, port)
    assert process.stdout is not None
    while b"[1/6]" not in await asyncio.wait_for(process.stdout.readline(), 60):
        pass

    process.send_signal(signal.SIGINT)
    text = await output(process)

    assert process.returncode == 130
    assert "Traceback" not in text
    assert not embedded.running(data_dir)


async def test_a_port_that_a_silent_program_has_is_named(data_dir: Path, listener: socket.socket) -> None:
    port = listener.getsockname()[1]

    process = await demo(data_dir, port)
    text = await output(process)

    assert process.returncode == 1
    assert f"omoi: the platform did not start: port {port} on 127.0.0.1 is in use by another program" in text


async def test_a_port_that_another_web_server_uses_is_named(data_dir: Path) -> None:
    async def answer(_: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        writer.write(b"HTTP/1.1 200 OK\r\nContent-Length: 5\r\nConnection: close\r\n\r\nhello")
        await writer.drain()
        writer.close()

    async with await asyncio.start_server(answer, "127.0.0.1", 0) as server:
        port = server.sockets[0].getsockname()[1]
        process = await demo(data_dir, port)
        text = await output(process)

    assert process.returncode == 1
    assert text.startswith(f"omoi: port {port} on 127.0.0.1 is in use by another program")
