"""A Daytona on loopback with real sandboxes, and the provider that talks to it through the real SDK."""

import sys
from collections.abc import AsyncIterator
from datetime import timedelta
from pathlib import Path

import pytest

import omoi_os
from omoi_os.providers.base import Runtime
from omoi_os.providers.daytona.creation import Waits
from omoi_os.providers.daytona.params import Account
from omoi_os.providers.daytona.provider import DaytonaProvider
from tests.e2e.conftest import make_platform
from tests.providers.conftest import processes_below
from tests.providers.daytona.records import Age
from tests.providers.daytona.server import API_KEY, FakeDaytona

__all__ = ["make_platform"]

#: The sandboxes of the loopback server have this machine's own runtime inside.
RUNTIME = Runtime(sys.executable, str(Path(omoi_os.__file__).parent.parent))

SOON = timedelta(seconds=30)

#: What the loopback server makes is there at once.
WAITS = Waits(looks=(0.0, 0.1, 0.2, 0.4))


@pytest.fixture(params=list(Age))
def age(request: pytest.FixtureRequest) -> Age:
    """Both versions of the API."""
    return Age(request.param)


@pytest.fixture
async def server(tmp_path: Path, age: Age) -> AsyncIterator[FakeDaytona]:
    """The server, which leaves nothing behind."""
    async with FakeDaytona(tmp_path, age) as started:
        yield started
    assert processes_below(tmp_path) == []
    assert list((tmp_path / "sandboxes").glob("*")) == []


@pytest.fixture
async def provider(server: FakeDaytona) -> AsyncIterator[DaytonaProvider]:
    """The provider, with the snapshot of the seeds."""
    account = Account(API_KEY, server.url)
    made = DaytonaProvider(account, callback_url="http://127.0.0.1:1", runtime=RUNTIME, waits=WAITS)
    yield made
    await made.close()
