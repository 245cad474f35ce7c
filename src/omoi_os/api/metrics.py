"""Metrics for Prometheus: the current state, and the outcomes of the last day."""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime, timedelta
from typing import Any

from fastapi import Response
from prometheus_client import CONTENT_TYPE_LATEST, generate_latest
from prometheus_client.core import GaugeMetricFamily, Metric
from prometheus_client.registry import Collector
from sqlalchemy import func, select
from sqlalchemy.ext.asyncio import AsyncSession

from omoi_os.accounts.deps import AdminUser
from omoi_os.http.deps import DbSession, Now
from omoi_os.http.problems import problems
from omoi_os.http.routers import make_router
from omoi_os.sandboxes.lifecycle import ALIVE, Purpose, SandboxState
from omoi_os.sandboxes.models import Sandbox
from omoi_os.tasks.lifecycle import OPEN, TaskState
from omoi_os.tasks.models import Task
from omoi_os.tasks.outcomes import FINAL, Outcome, of_attempt, of_task
from omoi_os.tasks.verdict import Verdict

router = make_router("", tags=["health"], below="")

#: Columns that are reported for each existing sandbox, with their meaning.
_USAGE = {
    "memory_bytes": "Memory in use.",
    "cpu_seconds": "Processor time used.",
    "disk_bytes": "Disk used by home and workspace.",
    "pids": "Processes and threads.",
}

#: How far back ended tasks and attempts are counted.
RECENT = timedelta(days=1)

_TEXT = {"description": "The text format of Prometheus.", "content": {"text/plain": {"schema": {"type": "string"}}}}


@router.get(
    "/metrics",
    summary="Export metrics for Prometheus",
    response_class=Response,
    responses=problems(401, 403, 422, 503) | {200: _TEXT},
)
async def metrics(_admin: AdminUser, session: DbSession, now: Now) -> Response:
    """Return open tasks and existing sandboxes by state, resource usage, and the outcomes of the last 24 hours.

    Only administrators can read it.
    """
    tasks = await session.execute(select(Task.status, func.count()).where(Task.status.in_(OPEN)).group_by(Task.status))
    sandboxes = await session.execute(select(Sandbox).where(Sandbox.status.in_(ALIVE)).order_by(Sandbox.created_at))
    report = _Report(
        open_tasks={row[0]: row[1] for row in tasks},
        sandboxes=sandboxes.scalars().all(),
        task_outcomes=await _task_outcomes(session, since=now - RECENT),
        attempt_outcomes=await _attempt_outcomes(session, since=now - RECENT),
    )
    return Response(generate_latest(report), media_type=CONTENT_TYPE_LATEST)


async def _task_outcomes(session: AsyncSession, *, since: datetime) -> dict[Outcome, int]:
    """Count the tasks that ended since then."""
    query = select(Task.status, Sandbox.verdict, func.count()).outerjoin(Sandbox, Sandbox.id == Task.sandbox_id)
    rows = await session.execute(query.where(Task.completed_at >= since).group_by(Task.status, Sandbox.verdict))
    counts = dict.fromkeys(FINAL, 0)
    for status, verdict, number in rows:
        counts[of_task(status, Verdict(verdict) if verdict else None)] += number
    return counts


async def _attempt_outcomes(session: AsyncSession, *, since: datetime) -> dict[Outcome, int]:
    """Count the attempts that started since then and have ended, except those whose result is being checked.

    A sandbox that serves a spec is not an attempt at a task, so the join leaves it out.
    """
    being_checked = (Task.status == TaskState.VERIFYING) & (Task.fence == Sandbox.fence)
    query = select(Sandbox.status, Sandbox.verdict, being_checked, func.count()).join(Task, Task.id == Sandbox.task_id)
    query = query.where(Sandbox.created_at >= since, Sandbox.purpose == Purpose.WORK)
    counts = dict.fromkeys(FINAL, 0)
    for status, verdict, checking, number in await session.execute(
        query.group_by(Sandbox.status, Sandbox.verdict, being_checked)
    ):
        outcome = of_attempt(
            verdict, alive=status in ALIVE, failed=status == SandboxState.FAILED, being_checked=checking
        )
        if outcome in counts:
            counts[outcome] += number
    return counts


@dataclass(frozen=True, slots=True)
class _Report(Collector):
    """One response, as a collector of the Prometheus library."""

    open_tasks: Mapping[str, int]
    sandboxes: Sequence[Sandbox]
    task_outcomes: Mapping[Outcome, int]
    attempt_outcomes: Mapping[Outcome, int]

    def collect(self) -> Iterator[Metric]:
        """Yield every metric family with its values."""
        yield _counts("omoi_tasks", "Open tasks by state.", "status", self.open_tasks)
        yield _counts(
            "omoi_tasks_ended", "Tasks that ended in the last 24 hours by outcome.", "outcome", self.task_outcomes
        )
        yield _counts(
            "omoi_attempts_ended",
            "Attempts that started in the last 24 hours and have ended, by outcome.",
            "outcome",
            self.attempt_outcomes,
        )
        alive = GaugeMetricFamily(
            "omoi_sandboxes",
            "Sandboxes that exist, by status, provider and purpose.",
            labels=["status", "provider", "purpose"],
        )
        groups: dict[tuple[str, str, str], int] = {}
        for sandbox in self.sandboxes:
            key = (sandbox.status, sandbox.provider, sandbox.purpose)
            groups[key] = groups.get(key, 0) + 1
        for labels, count in groups.items():
            alive.add_metric(labels, count)
        yield alive
        for column, meaning in _USAGE.items():
            yield self._usage(column, meaning)
        yield self._costs()

    def _usage(self, column: str, meaning: str) -> Metric:
        family = GaugeMetricFamily(f"omoi_sandbox_{column}", meaning, labels=["sandbox_id", "provider"])
        for sandbox in self.sandboxes:
            value = getattr(sandbox, column)
            if value is not None:
                family.add_metric([sandbox.id, sandbox.provider], value)
        return family

    def _costs(self) -> Metric:
        """Return paid and simulated costs, distinguished by a label."""
        labels = ["sandbox_id", "provider", "simulated"]
        family = GaugeMetricFamily("omoi_sandbox_cost_usd", "Cost of the model calls of a sandbox.", labels=labels)
        for sandbox in self.sandboxes:
            simulated, paid = sandbox.simulated_cost_usd, sandbox.cost_usd - sandbox.simulated_cost_usd
            if simulated:
                family.add_metric([sandbox.id, sandbox.provider, "true"], simulated)
            if paid or not simulated:
                family.add_metric([sandbox.id, sandbox.provider, "false"], paid)
        return family


def _counts(name: str, meaning: str, label: str, counts: Mapping[Any, int]) -> Metric:
    family = GaugeMetricFamily(name, meaning, labels=[label])
    for value, count in counts.items():
        family.add_metric([str(value)], count)
    return family
