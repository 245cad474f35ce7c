"""The Daytona provider does what every provider must, over the loopback server."""

from collections.abc import AsyncIterator

import pytest

from omoi_os.providers.base import Resources
from omoi_os.providers.conformance import CHECKS, Bench, Check, Outcome, judge
from omoi_os.providers.daytona.params import Account, Source
from omoi_os.providers.daytona.provider import DaytonaProvider
from tests.providers.daytona.conftest import RUNTIME
from tests.providers.daytona.records import Age
from tests.providers.daytona.server import API_KEY, GIBIBYTE, FakeDaytona

#: The least that Daytona gives.
SMALLEST = Resources(GIBIBYTE, cpus=1, pids=48, disk_bytes=GIBIBYTE)


@pytest.fixture
def age() -> Age:
    return Age.NEW


@pytest.fixture
async def bench(server: FakeDaytona) -> AsyncIterator[Bench]:
    made: list[DaytonaProvider] = []

    def factory() -> DaytonaProvider:
        source = Source(snapshot=None, image="omoi:latest")
        account = Account(API_KEY, server.url)
        made.append(DaytonaProvider(account, callback_url="http://127.0.0.1:1", source=source, runtime=RUNTIME))
        return made[-1]

    async with Bench(factory, resources=SMALLEST, small=SMALLEST) as bench:
        yield bench
    for provider in made:
        await provider.close()


@pytest.mark.parametrize("check", CHECKS, ids=str)
async def test_conformance(check: Check, bench: Bench) -> None:
    result = await judge(bench, check)
    if result.outcome is Outcome.GAP:
        pytest.xfail(f"known gap: {result.sentence}")
    assert result.outcome is Outcome.PASSED, result.sentence
