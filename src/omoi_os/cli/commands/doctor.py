"""`omoi doctor`: says of each part whether it works, and if not what to do; with `--provider`, tries one out."""

import asyncio
import sys
from collections.abc import Sequence
from datetime import timedelta
from typing import Any, TextIO

from omoi_os.cli.checks import components as parts
from omoi_os.cli.checks.components import Finding, Level
from omoi_os.cli.local import data_folder as folder
from omoi_os.config import Settings, load_settings
from omoi_os.printable import one_line
from omoi_os.providers.base import SandboxProvider
from omoi_os.providers.conformance import CHECKS, Bench, Check, Outcome, Pace, Report, Result
from omoi_os.providers.conformance import run as run_checks
from omoi_os.providers.registry import close_provider, make_provider

#: A provider may be on the other side of the world.
PACE = Pace(patience=timedelta(minutes=3), notice=timedelta(minutes=1))

_WORDS = {Outcome.PASSED: "OK", Outcome.GAP: "gap", Outcome.FAILED: "FAILED"}


def run(parameters: dict[str, Any]) -> int:
    """Exit code 0 when nothing failed; warnings and known gaps are no failures."""
    wanted = parameters.pop("provider", None)
    settings = load_settings(**parameters, **({"sandbox_provider": wanted} if wanted else {}))
    findings, provider = parts.examine(settings)
    for finding in findings:
        print(f"{finding.level:8} {finding.part:12} {one_line(finding.sentence)}", flush=True)
    failed = [finding.part for finding in findings if finding.level is Level.FAILED]
    if wanted and provider is not None:
        print(f"\nTrying out the provider {wanted}: {len(CHECKS)} behaviours, each on real sandboxes.", flush=True)
        folder.prepare(settings.data_dir)
        report = asyncio.run(try_out(settings, CHECKS, out=sys.stdout))
        print(summary(report))
        failed += [result.check.name for result in report.of(Outcome.FAILED)]
    print(_verdict(findings, failed))
    return 1 if failed else 0


async def try_out(settings: Settings, checks: Sequence[Check], *, out: TextIO) -> Report:
    """Run the checks against the configured provider and print each result as it comes."""
    made: list[SandboxProvider] = []

    def factory() -> SandboxProvider:
        made.append(make_provider(settings))
        return made[-1]

    def show(result: Result) -> None:
        name = result.check.name.replace("_", " ")
        told = "" if result.outcome is Outcome.PASSED else f": {one_line(result.sentence)}"
        print(f"{_WORDS[result.outcome]:8} {result.seconds:5.1f} s  {name}{told}", file=out, flush=True)

    async with Bench(factory, pace=PACE) as bench:
        report = await run_checks(bench, checks, on_result=show)
    for provider in made:
        await close_provider(provider)
    return report


def summary(report: Report) -> str:
    """One line with the numbers."""
    passed, gaps, failed = (len(report.of(outcome)) for outcome in (Outcome.PASSED, Outcome.GAP, Outcome.FAILED))
    return f"{len(report.results)} behaviours: {passed} as they must be, {gaps} known gaps, {failed} FAILED.\n"


def _verdict(findings: Sequence[Finding], failed: Sequence[str]) -> str:
    if failed:
        return f"FAILED: {', '.join(failed)}."
    warnings = sum(finding.level is Level.WARNING for finding in findings)
    return f"Nothing failed; {warnings} warning{'' if warnings == 1 else 's'}."
