"""A pytest plugin for tests that must really run: a skip, of one test or of a whole file, is a failure."""

from collections.abc import Generator
from typing import TypeVar

import pytest

Report = TypeVar("Report", pytest.TestReport, pytest.CollectReport)


@pytest.hookimpl(wrapper=True, tryfirst=True)
def pytest_runtest_makereport(item: pytest.Item) -> Generator[None, pytest.TestReport, pytest.TestReport]:
    """Turn a skipped test into a failed one that carries the reason of the skip.

    A known gap ran and is reported as an expected failure with its reason; pytest marks it before this sees it.
    """
    report = yield
    return report if hasattr(report, "wasxfail") else _failed(report, item.nodeid)


@pytest.hookimpl(wrapper=True)
def pytest_make_collect_report(
    collector: pytest.Collector,
) -> Generator[None, pytest.CollectReport, pytest.CollectReport]:
    """The same for a whole file."""
    report = yield
    return _failed(report, collector.nodeid)


def _failed(report: Report, name: str) -> Report:
    if report.skipped:
        report.outcome = "failed"
        report.longrepr = f"{name} was skipped, but must run here: {report.longrepr}"
    return report
