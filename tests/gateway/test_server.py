"""The gateway as a separate process: killed, restarted, asked to stop."""

import asyncio
import signal
import sys
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager

from omoi_os.config import Settings
from tests.gateway.conftest import OpenSocket
from tests.gateway.places import GatewaySocket, Host

PROGRAM = """
import asyncio, logging
from omoi_os.config import load_settings
from omoi_os.gateway.server import run
logging.basicConfig(level=logging.INFO)
asyncio.run(run(load_settings()))
"""


@asynccontextmanager
async def process(settings: Settings) -> AsyncIterator[asyncio.subprocess.Process]:
    """A gateway that has opened its gateway sockets."""
    env = {
        "OMOI_DATA_DIR": str(settings.data_dir),
        "DATABASE_URL": settings.database_url or "",
        "OMOI_API_URL": settings.api_url or "",
    }
    started = await asyncio.create_subprocess_exec(
        *(sys.executable, "-c", PROGRAM), env=env, cwd=settings.data_dir, stderr=asyncio.subprocess.PIPE
    )
    assert started.stderr is not None
    try:
        while b"the gateway is ready" not in (line := await started.stderr.readline()):
            assert line, "the gateway ended before it was ready"
        yield started
    finally:
        if started.returncode is None:
            started.kill()
        await started.wait()


async def asks_for_its_task(gateway_socket: GatewaySocket) -> int:
    async with gateway_socket.client() as client:
        async with client.get(f"{gateway_socket.own}/task") as answer:
            return answer.status


async def test_a_killed_gateway_is_replaced_by_the_next_and_that_one_stops_when_asked(
    settings: Settings, open_socket: OpenSocket, api: Host
) -> None:
    gateway_socket = await open_socket()
    async with process(settings) as first:
        assert await asks_for_its_task(gateway_socket) == 200
        first.kill()
        await first.wait()

    async with process(settings) as second:
        assert await asks_for_its_task(gateway_socket) == 200
        second.send_signal(signal.SIGTERM)
        assert await second.wait() == 0
