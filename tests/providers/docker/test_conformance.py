"""The docker provider does what every provider must."""

from collections.abc import AsyncIterator, Callable

import pytest

from omoi_os.providers.conformance import CHECKS, Bench, Check, Outcome, judge
from omoi_os.providers.docker.provider import DockerProvider

pytestmark = pytest.mark.timeout(600)


@pytest.fixture
async def bench(make_provider: Callable[[], DockerProvider]) -> AsyncIterator[Bench]:
    async with Bench(make_provider) as made:
        yield made


@pytest.mark.parametrize("check", CHECKS, ids=str)
async def test_conformance(check: Check, bench: Bench) -> None:
    result = await judge(bench, check)
    assert result.outcome is Outcome.PASSED, result.sentence
