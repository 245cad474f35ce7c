"""Runs checks and compares failures with the known gaps."""

import asyncio
from collections.abc import Callable, Sequence
from dataclasses import dataclass

from omoi_os.conformance import Failed, Outcome
from omoi_os.errors import ForgeError
from omoi_os.forges.conformance import branches, durability, heads, held_branches, mirrors, names, repositories
from omoi_os.forges.conformance.bench import Bench
from omoi_os.forges.conformance.guarantees import Check

#: Every behaviour that a forge must have.
CHECKS: Sequence[Check] = (
    *repositories.CHECKS,
    *branches.CHECKS,
    *names.CHECKS,
    *heads.CHECKS,
    *held_branches.CHECKS,
    *mirrors.CHECKS,
    *durability.CHECKS,
)


@dataclass(frozen=True, slots=True)
class Result:
    """Outcome of one check. The sentence is the promise, what was observed, or the reason for a gap."""

    check: Check
    outcome: Outcome
    sentence: str


async def judge(bench: Bench, check: Check) -> Result:
    """Run one check. A known gap is run too: it passes as soon as it is closed."""
    observed = await _failure(bench, check)
    if observed is None:
        return Result(check, Outcome.PASSED, check.promise)
    reason = bench.gaps.get(check.name) or bench.gaps.get(check.guarantee)
    return Result(check, Outcome.GAP if reason else Outcome.FAILED, reason or observed)


async def run(
    bench: Bench, checks: Sequence[Check] = CHECKS, *, on_result: Callable[[Result], None] | None = None
) -> Sequence[Result]:
    """Run the checks one after the other and report each result as soon as it is known."""
    results = []
    for check in checks:
        result = await judge(bench, check)
        results.append(result)
        if on_result is not None:
            on_result(result)
    return results


async def _failure(bench: Bench, check: Check) -> str | None:
    timer = asyncio.timeout(bench.patience)
    try:
        async with timer:
            await check(bench)
    except Failed as failed:
        return str(failed)
    except ForgeError as error:
        return f"the forge refused: {error}"
    except Exception as error:  # noqa: BLE001  a forge under test may raise anything, and the next check must run
        if timer.expired():
            return f"it did not end within {bench.patience:g} s"
        return f"unexpected {type(error).__name__}: {error}"
    return None
