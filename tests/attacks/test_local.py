"""The named attacks on local sandboxes, and on plain processes of the host, where they must succeed."""

import os
from collections.abc import AsyncIterator
from pathlib import Path

import pytest

from omoi_os.providers.conformance import Bench
from omoi_os.providers.local.provider import LocalProvider
from tests.attacks import calls, catalogue
from tests.providers.weak import WeakProvider, bare_bench


@pytest.fixture
async def bench(tmp_path: Path) -> AsyncIterator[Bench]:
    async with Bench(lambda: LocalProvider(tmp_path / "sandboxes")) as made:
        yield made


@pytest.fixture
async def bare(tmp_path: Path) -> AsyncIterator[Bench]:
    async with bare_bench(WeakProvider(tmp_path)) as made:
        yield made


@pytest.mark.parametrize("attack", catalogue.ATTACKS)
async def test_an_attack_is_stopped(attack: str, bench: Bench) -> None:
    await catalogue.stopped(bench, attack)


@pytest.mark.parametrize("attack", catalogue.ATTACKS)
async def test_without_walls_the_same_attack_succeeds(attack: str, bare: Bench) -> None:
    await catalogue.succeeds(bare, attack)


async def test_without_the_filter_no_call_is_refused(bare: Bench) -> None:
    through = await calls.calls_that_get_through(bare, calls.HARMLESS)

    assert through == set(calls.HARMLESS) if os.geteuid() == 0 else len(through) > 5
