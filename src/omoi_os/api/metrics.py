"""Metrics for Prometheus: what is going on now, read from the rows of what is active."""

from collections.abc import Iterator, Mapping, Sequence

from fastapi import Response
from prometheus_client import CONTENT_TYPE_LATEST, generate_latest
from prometheus_client.core import GaugeMetricFamily, Metric
from prometheus_client.registry import Collector
from sqlalchemy import func, select

from omoi_os.api.deps import AdminUser, DbSession
from omoi_os.api.errors import problems
from omoi_os.api.routers import make_router
from omoi_os.sandboxes.lifecycle import ALIVE
from omoi_os.sandboxes.models import Sandbox
from omoi_os.tasks.lifecycle import OPEN
from omoi_os.tasks.models import Task

router = make_router("", tags=["health"], below="")

#: What is told of each living sandbox: the column, and what it means.
_USAGE = {
    "memory_bytes": "Memory in use.",
    "cpu_seconds": "Processor time used.",
    "disk_bytes": "Disk used by home and workspace.",
    "pids": "Processes and threads.",
    "cost_usd": "What its model calls have cost.",
}


_TEXT = {"description": "The text format of Prometheus.", "content": {"text/plain": {"schema": {"type": "string"}}}}


@router.get(
    "/metrics",
    summary="Metrics for Prometheus",
    response_class=Response,
    responses=problems(401, 403, 422, 503) | {200: _TEXT},
)
async def metrics(_admin: AdminUser, session: DbSession) -> Response:
    """Open tasks by state, living sandboxes by state, and what each of them uses. Administrators only."""
    tasks = await session.execute(select(Task.status, func.count()).where(Task.status.in_(OPEN)).group_by(Task.status))
    sandboxes = await session.execute(select(Sandbox).where(Sandbox.status.in_(ALIVE)).order_by(Sandbox.created_at))
    report = _Report({row[0]: row[1] for row in tasks}, sandboxes.scalars().all())
    return Response(generate_latest(report), media_type=CONTENT_TYPE_LATEST)


class _Report(Collector):
    """One answer, in the shape that the library writes out."""

    def __init__(self, tasks: Mapping[str, int], sandboxes: Sequence[Sandbox]) -> None:
        self._tasks = tasks
        self._sandboxes = sandboxes

    def collect(self) -> Iterator[Metric]:
        """Every family with its values."""
        open_tasks = GaugeMetricFamily("omoi_tasks", "Open tasks by state.", labels=["status"])
        for status, count in self._tasks.items():
            open_tasks.add_metric([status], count)
        yield open_tasks
        alive = GaugeMetricFamily("omoi_sandboxes", "Living sandboxes.", labels=["status", "provider", "purpose"])
        groups: dict[tuple[str, str, str], int] = {}
        for sandbox in self._sandboxes:
            key = (sandbox.status, sandbox.provider, sandbox.purpose)
            groups[key] = groups.get(key, 0) + 1
        for labels, count in groups.items():
            alive.add_metric(labels, count)
        yield alive
        for column, meaning in _USAGE.items():
            yield self._usage(column, meaning)

    def _usage(self, column: str, meaning: str) -> Metric:
        family = GaugeMetricFamily(f"omoi_sandbox_{column}", meaning, labels=["sandbox_id", "provider"])
        for sandbox in self._sandboxes:
            value = getattr(sandbox, column)
            if value is not None:
                family.add_metric([sandbox.id, sandbox.provider], value)
        return family
