"""The loopback Daytona as a separate process, for tests whose platform is one too."""

import asyncio
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from tests.providers.daytona.records import Age
from tests.providers.daytona.server import FakeDaytona


@contextmanager
def running(root: Path, *, gateway_port: int, age: Age = Age.OLD) -> Iterator[str]:
    """Start it and yield its API's address. At the end it removes its sandboxes and stops."""
    command = [sys.executable, "-m", "tests.providers.daytona.standalone", str(root), age, str(gateway_port)]
    with subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True) as process:
        assert process.stdin is not None
        assert process.stdout is not None
        try:
            yield process.stdout.readline().strip()
        finally:
            process.stdin.close()
    assert process.returncode == 0


async def main(root: str, age: str, gateway_port: str) -> None:
    """Serve until the input is closed."""
    async with FakeDaytona(Path(root), Age(age), gateway_port=int(gateway_port)) as server:
        print(server.url, flush=True)
        await asyncio.to_thread(sys.stdin.read)


if __name__ == "__main__":
    asyncio.run(main(*sys.argv[1:]))
