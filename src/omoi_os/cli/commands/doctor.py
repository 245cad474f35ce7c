"""`omoi doctor`: check each component and say how to fix it; with `--provider`, also test a provider."""

import asyncio
import sys
from collections.abc import Sequence
from datetime import timedelta
from typing import Any, TextIO

from omoi_os.cli.checks import components
from omoi_os.cli.checks.components import Finding, Level
from omoi_os.cli.local import data_folder as folder
from omoi_os.config import Settings, load_settings
from omoi_os.printable import one_line
from omoi_os.providers.base import SandboxProvider
from omoi_os.providers.conformance import CHECKS, Bench, Check, Outcome, Pace, Report, Result
from omoi_os.providers.conformance import run as run_checks
from omoi_os.providers.registry import close_provider, make_provider

#: Remote providers are slower than the local one.
PACE = Pace(patience=timedelta(minutes=3), notice=timedelta(minutes=1))

_WORDS = {Outcome.PASSED: "OK", Outcome.GAP: "gap", Outcome.FAILED: "FAILED"}


def run(parameters: dict[str, Any]) -> int:
    """Return 0 when nothing failed, else 1. Warnings and known gaps are not failures."""
    wanted = parameters.pop("provider", None)
    settings = load_settings(**parameters, **({"sandbox_provider": wanted} if wanted else {}))
    findings, provider = components.examine(settings)
    for finding in findings:
        print(f"{finding.level:8} {finding.component:12} {one_line(finding.sentence)}", flush=True)
    failed = [finding.component for finding in findings if finding.level is Level.FAILED]
    if wanted and provider is not None:
        print(f"\nTesting provider {wanted} on real sandboxes: {len(CHECKS)} checks.", flush=True)
        folder.prepare(settings.data_dir)
        report = asyncio.run(test_provider(settings, CHECKS, out=sys.stdout))
        print(summary(report))
        failed += [result.check.name for result in report.of(Outcome.FAILED)]
    print(_verdict(findings, failed))
    return 1 if failed else 0


async def test_provider(settings: Settings, checks: Sequence[Check], *, out: TextIO) -> Report:
    """Run the checks against the configured provider and print each result."""
    made: list[SandboxProvider] = []

    def factory() -> SandboxProvider:
        made.append(make_provider(settings))
        return made[-1]

    def show(result: Result) -> None:
        name = result.check.name.replace("_", " ")
        detail = "" if result.outcome is Outcome.PASSED else f": {one_line(result.sentence)}"
        print(f"{_WORDS[result.outcome]:8} {result.seconds:5.1f} s  {name}{detail}", file=out, flush=True)

    async with Bench(factory, pace=PACE) as bench:
        report = await run_checks(bench, checks, on_result=show)
    for provider in made:
        await close_provider(provider)
    return report


def summary(report: Report) -> str:
    """Return one line with the counts."""
    passed, gaps, failed = (len(report.of(outcome)) for outcome in (Outcome.PASSED, Outcome.GAP, Outcome.FAILED))
    return f"{len(report.results)} checks: {passed} passed, {gaps} known gaps, {failed} failed.\n"


def _verdict(findings: Sequence[Finding], failed: Sequence[str]) -> str:
    if failed:
        return f"Failed: {', '.join(failed)}."
    warnings = sum(finding.level is Level.WARNING for finding in findings)
    return f"All checks passed, {warnings} warning{'' if warnings == 1 else 's'}."
