"""Whether the API's port is free, and the error if it is not."""

import asyncio
import socket
from collections.abc import Iterator
from pathlib import Path

import pytest

from omoi_os.cli.local import port
from omoi_os.config import Settings
from omoi_os.errors import SetupError


@pytest.fixture
def listener() -> Iterator[socket.socket]:
    with socket.create_server(("127.0.0.1", 0)) as server:
        yield server


def at(number: int, host: str = "127.0.0.1") -> Settings:
    return Settings(host=host, port=number, data_dir=Path("/tmp/none"))


async def test_a_free_port_is_fine(listener: socket.socket) -> None:
    number = listener.getsockname()[1]
    listener.close()

    await port.check_free(at(number), patiently=False)


async def test_a_taken_port_is_named_with_a_remedy(listener: socket.socket) -> None:
    number = listener.getsockname()[1]

    with pytest.raises(SetupError, match=rf"port {number} on 127.0.0.1 is in use.*OMOI_PORT="):
        await port.check_free(at(number), patiently=False)


async def test_after_a_kill_the_port_is_waited_for(listener: socket.socket) -> None:
    check = asyncio.create_task(port.check_free(at(listener.getsockname()[1]), patiently=True))
    done, _ = await asyncio.wait([check], timeout=0.2)
    assert not done

    listener.close()

    await asyncio.wait_for(check, 5)


async def test_an_address_of_another_machine_is_named() -> None:
    with pytest.raises(SetupError, match=r"cannot listen on 192\.0\.2\.1 port 18000 .*OMOI_HOST"):
        await port.check_free(at(18000, "192.0.2.1"), patiently=False)
