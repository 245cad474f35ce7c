"""A server that all tests of a file share, and the owner of a new project in it."""

from pathlib import Path

import pytest

from omoi_os.db.base import Sessions
from tests.api.git.people import Person, Server
from tests.api_process import ApiProcess


@pytest.fixture
async def server(shared_api: ApiProcess, shared_sessions: Sessions, tmp_path: Path) -> Server:
    made = Server(shared_api, shared_sessions, tmp_path)
    await made.claim()
    return made


@pytest.fixture
async def owner(server: Server) -> Person:
    return await server.person()


@pytest.fixture
async def cloned(owner: Person) -> Person:
    """The owner in a clone of the project."""
    await owner.clone()
    return owner
