"""The docker provider does what every provider must."""

from collections.abc import AsyncIterator
from contextlib import AsyncExitStack

import pytest
import pytest_asyncio

from omoi_os.providers.conformance import CHECKS, Bench, Check, Outcome, judge
from omoi_os.providers.docker.provider import DockerProvider

pytestmark = pytest.mark.timeout(600)


@pytest_asyncio.fixture(scope="module", loop_scope="module")
async def bench(host: str, image: str) -> AsyncIterator[Bench]:
    async with AsyncExitStack() as stack:

        def factory() -> DockerProvider:
            made = DockerProvider(image=image, site=lambda: "here", host=host)
            stack.push_async_callback(made.close)
            return made

        async with Bench(factory) as bench:
            yield bench


@pytest.mark.asyncio(loop_scope="module")
@pytest.mark.parametrize("check", CHECKS, ids=str)
async def test_conformance(check: Check, bench: Bench) -> None:
    result = await judge(bench, check)
    assert result.outcome is Outcome.PASSED, result.sentence
