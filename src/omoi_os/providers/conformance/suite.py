"""Runs checks, considers known gaps, and collects the results."""

import asyncio
import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass

from omoi_os.conformance import Failed, Outcome
from omoi_os.providers.base import SandboxProvider
from omoi_os.providers.conformance import (
    bound_folders,
    commands,
    exits,
    files,
    isolation,
    life,
    limits,
    network,
    trees,
    usage,
)
from omoi_os.providers.conformance.bench import Bench
from omoi_os.providers.conformance.guarantees import Check, Guarantee

#: Every behaviour that a provider must have.
CHECKS: Sequence[Check] = (
    *commands.CHECKS,
    *trees.CHECKS,
    *files.CHECKS,
    *life.CHECKS,
    *exits.CHECKS,
    *isolation.CHECKS,
    *network.CHECKS,
    *limits.CHECKS,
    *usage.CHECKS,
    *bound_folders.CHECKS,
)

#: What a provider's warning may excuse. Not the disk: one that is only measured is limited too, a little later.
_EXCUSED = (Guarantee.MEMORY, Guarantee.CPU, Guarantee.PIDS)

#: A check makes a few calls at most.
_CALLS = 6


@dataclass(frozen=True, slots=True)
class Result:
    """The result of a check. The sentence is what was seen, or the reason of a gap."""

    check: Check
    outcome: Outcome
    sentence: str
    seconds: float


@dataclass(frozen=True, slots=True)
class Report:
    """The results of all checks, in order."""

    results: Sequence[Result]

    def of(self, outcome: Outcome) -> Sequence[Result]:
        """Return the results with this outcome."""
        return [result for result in self.results if result.outcome is outcome]


def known_gaps(provider: SandboxProvider) -> Mapping[str, str]:
    """Return the gaps that the provider declares by its attributes, and by a mapping `gaps` if it has one."""
    gaps: dict[str, str] = {}
    if not provider.has_gateway_socket:
        gaps[Guarantee.BOUND_FOLDERS] = (
            "its sandboxes reach the gateway over the network, and nothing of this machine is bound in"
        )
    if provider.limits_warning:
        # The sentence names the resources: memory, cpu, pids.
        gaps |= {limit: provider.limits_warning for limit in _EXCUSED if limit in provider.limits_warning.lower()}
    return gaps | dict(getattr(provider, "gaps", {}))


async def judge(bench: Bench, check: Check) -> Result:
    """Run one check. A check with a known gap runs too, and passes once the gap is closed."""
    began = time.monotonic()
    seen = await _failure(bench, check)
    seconds = time.monotonic() - began
    if seen is None:
        return Result(check, Outcome.PASSED, check.promise, seconds)
    gaps = {**known_gaps(bench.provider), **bench.gaps}
    reason = gaps.get(check.name) or gaps.get(check.guarantee)
    return Result(check, Outcome.GAP if reason else Outcome.FAILED, reason or seen, seconds)


async def run(
    bench: Bench, checks: Sequence[Check] = CHECKS, *, on_result: Callable[[Result], None] | None = None
) -> Report:
    """Run the checks one after the other, and report each result as soon as it is known."""
    results = []
    for check in checks:
        result = await judge(bench, check)
        results.append(result)
        if on_result is not None:
            on_result(result)
    return Report(results)


async def _failure(bench: Bench, check: Check) -> str | None:
    limit = _CALLS * bench.pace.patience.total_seconds()
    try:
        async with asyncio.timeout(limit):
            passed = False
            try:
                await check(bench)
                passed = True
            finally:
                # Leftovers of a failed check must not affect the next one.
                await bench.clear(but_shared=passed)
    except Failed as failed:
        return str(failed)
    except Exception as error:  # noqa: BLE001  a provider under test may raise anything, and the next check runs all the same
        return f"unexpected {type(error).__name__}: {error}"
    return None
