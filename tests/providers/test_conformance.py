"""The suite itself: against a provider without isolation and limits, every check of those must fail."""

import asyncio
from collections.abc import AsyncIterator
from dataclasses import replace
from datetime import timedelta
from pathlib import Path

import pytest

from omoi_os.conformance import collector
from omoi_os.providers.base import Resources
from omoi_os.providers.conformance import (
    CHECKS,
    Bench,
    Check,
    Guarantee,
    Outcome,
    Result,
    judge,
    known_gaps,
    run,
)
from omoi_os.providers.conformance.bench import SMALL
from tests.providers.weak import WeakProvider, bare_bench

WALLS = (
    Guarantee.ISOLATION,
    Guarantee.NETWORK,
    Guarantee.MEMORY,
    Guarantee.CPU,
    Guarantee.PIDS,
    Guarantee.DISK,
    Guarantee.USAGE,
)
BASICS = (
    "an_exit_code_is_a_result",
    "the_two_outputs_are_kept_apart",
    "input_arrives_whole_and_its_end_is_seen",
    "arguments_are_taken_as_they_are",
    "binary_files_come_back_unchanged",
    "a_workspace_begins_with_its_checkout_or_empty_and_never_changes_it",
    "a_missing_file_is_reported",
    "what_never_was_is_gone",
)


@pytest.fixture
async def bench(tmp_path: Path) -> AsyncIterator[Bench]:
    async with bare_bench(WeakProvider(tmp_path)) as made:
        yield made


@pytest.mark.parametrize("check", [check for check in CHECKS if check.guarantee in WALLS], ids=str)
async def test_a_missing_wall_is_seen(check: Check, bench: Bench) -> None:
    result = await judge(bench, check)

    assert result.outcome is Outcome.FAILED
    assert not result.sentence.startswith(("unexpected", "the question was not answered")), result.sentence


@pytest.mark.parametrize("check", [check for check in CHECKS if check.name in BASICS], ids=str)
async def test_checks_that_need_no_isolation_pass_without_it(check: Check, bench: Bench) -> None:
    result = await judge(bench, check)

    assert result.outcome is Outcome.PASSED, result.sentence


def test_there_are_enough_checks_and_each_has_a_name_and_a_promise_of_its_own() -> None:
    assert len(CHECKS) >= 40
    assert len({check.name for check in CHECKS}) == len(CHECKS)
    assert all(check.promise.endswith(".") and "\n" not in check.promise for check in CHECKS)


def two_checks() -> list[Check]:
    found: list[Check] = []
    check = collector(found)

    @check(Guarantee.LIFE)
    async def fine(bench: Bench) -> None:
        """It is fine."""

    @check(Guarantee.PIDS)
    async def broken(bench: Bench) -> None:
        """It is not."""
        raise ValueError("out of order")

    return found


async def test_each_result_is_reported_at_once_and_the_suite_continues_after_a_failure(bench: Bench) -> None:
    told: list[Result] = []

    report = await run(bench, list(reversed(two_checks())), on_result=told.append)

    assert [result.check.name for result in told] == ["broken", "fine"]
    assert list(report.results) == told
    assert [result.sentence for result in report.of(Outcome.FAILED)] == ["unexpected ValueError: out of order"]


@pytest.mark.parametrize("key", ["broken", Guarantee.PIDS])
async def test_a_known_gap_is_reported_with_its_reason(bench: Bench, key: str) -> None:
    bench.gaps = {key: "it has no counter"}

    report = await run(bench, two_checks())

    assert [(gap.check.name, gap.sentence) for gap in report.of(Outcome.GAP)] == [("broken", "it has no counter")]
    assert not report.of(Outcome.FAILED)


async def test_a_limit_that_the_provider_warns_about_is_a_gap_and_others_are_not(tmp_path: Path) -> None:
    class Warns(WeakProvider):
        limits_warning = "Here memory and pids cannot be limited, and disk is watched."

    gaps = known_gaps(Warns(tmp_path))

    assert {Guarantee.MEMORY, Guarantee.PIDS} <= gaps.keys()
    assert not {Guarantee.CPU, Guarantee.DISK} & gaps.keys()


async def test_a_provider_declares_its_gaps_and_its_smallest_resources(tmp_path: Path) -> None:
    class Coarse(WeakProvider):
        gaps = {"broken": "it is made of one piece"}
        smallest = Resources(1 << 30, cpus=1, pids=1, disk_bytes=1)

    async with Bench(lambda: Coarse(tmp_path)) as bench:
        report = await run(bench, two_checks())

    assert [gap.sentence for gap in report.of(Outcome.GAP)] == ["it is made of one piece"]
    assert bench.small == replace(SMALL, memory_bytes=1 << 30, cpus=1)


async def test_a_provider_that_hangs_fails_its_check(bench: Bench) -> None:
    found: list[Check] = []

    @collector(found)(Guarantee.LIFE)
    async def hangs(bench: Bench) -> None:
        """It never ends."""
        await bench.within(asyncio.Event().wait(), "waiting")

    bench.pace = replace(bench.pace, patience=timedelta(milliseconds=20))
    result = await judge(bench, found[0])

    assert (result.outcome, result.sentence) == (Outcome.FAILED, "waiting did not return within 0.04 s")
