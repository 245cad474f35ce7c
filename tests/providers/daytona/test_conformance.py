"""The Daytona provider does what every provider must, over the loopback server."""

from collections.abc import AsyncIterator

import pytest
import pytest_asyncio

from omoi_os.providers.conformance import CHECKS, Bench, Check, Guarantee, Outcome, judge
from omoi_os.providers.daytona.params import Account, Source
from omoi_os.providers.daytona.provider import DaytonaProvider
from tests.providers.daytona.conftest import RUNTIME, WAITS
from tests.providers.daytona.records import Age
from tests.providers.daytona.server import API_KEY, FakeDaytona

#: What is a gap over the loopback server too. The others are Daytona's own; bubblewrap keeps them.
GAPS = (Guarantee.BOUND_FOLDERS, Guarantee.PIDS)


@pytest_asyncio.fixture(scope="module", loop_scope="module")
async def bench(tmp_path_factory: pytest.TempPathFactory) -> AsyncIterator[Bench]:
    made: list[DaytonaProvider] = []
    async with FakeDaytona(tmp_path_factory.mktemp("daytona"), Age.NEW) as server:

        def factory() -> DaytonaProvider:
            source = Source(snapshot=None, image="omoi:latest")
            account, callback = Account(API_KEY, server.url), "http://127.0.0.1:1"
            made.append(DaytonaProvider(account, callback_url=callback, source=source, runtime=RUNTIME, waits=WAITS))
            return made[-1]

        async with Bench(factory) as bench:
            yield bench
        for provider in made:
            await provider.close()


@pytest.mark.asyncio(loop_scope="module")
@pytest.mark.parametrize("check", CHECKS, ids=str)
async def test_conformance(check: Check, bench: Bench) -> None:
    result = await judge(bench, check)
    if result.outcome is Outcome.GAP and check.guarantee in GAPS:
        pytest.xfail(f"known gap: {result.sentence}")
    assert result.outcome is Outcome.PASSED, result.sentence
