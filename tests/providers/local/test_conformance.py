"""The local provider does what every provider must."""

from collections.abc import AsyncIterator
from pathlib import Path

import pytest

from omoi_os.providers.conformance import CHECKS, Bench, Check, Outcome, judge
from omoi_os.providers.local.host.provider import LocalProvider


@pytest.fixture
async def bench(root: Path) -> AsyncIterator[Bench]:
    async with Bench(lambda: LocalProvider(root)) as made:
        yield made


@pytest.mark.parametrize("check", CHECKS, ids=str)
async def test_conformance(check: Check, bench: Bench) -> None:
    result = await judge(bench, check)
    if result.outcome is Outcome.GAP:
        pytest.xfail(f"known gap: {result.sentence}")
    assert result.outcome is Outcome.PASSED, result.sentence
