"""A server for the tests of the stream."""

from collections.abc import AsyncIterator

import pytest

from tests.stream.servers import Server, serving_here


@pytest.fixture
async def server(database_url: str) -> AsyncIterator[Server]:
    async with serving_here(database_url) as made:
        yield made
