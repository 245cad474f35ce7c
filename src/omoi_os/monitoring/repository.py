"""Queries over what is open and over the last days; none of them reads all that ever was."""

from dataclasses import dataclass
from datetime import date, datetime
from uuid import UUID

from sqlalchemy import ColumnElement, func, select, text, true
from sqlalchemy.ext.asyncio import AsyncSession
from sqlalchemy.orm import InstrumentedAttribute

from omoi_os.projects.models import Project
from omoi_os.sandboxes.lifecycle import ALIVE, SandboxState
from omoi_os.sandboxes.models import Sandbox
from omoi_os.tasks.lifecycle import TERMINAL, TaskState
from omoi_os.tasks.models import Task
from omoi_os.tasks.outcomes import FINAL, Outcome, of_task
from omoi_os.tasks.verdict import Verdict


@dataclass(frozen=True, slots=True)
class Spent:
    """What the sandboxes of one day have spent."""

    cost_usd: float
    simulated_cost_usd: float
    tokens: int


def _of(owner: UUID | None, project_id: InstrumentedAttribute[UUID]) -> ColumnElement[bool]:
    """Whose projects count; everyone's for None."""
    return true() if owner is None else project_id.in_(select(Project.id).where(Project.created_by == owner))


async def open_tasks(session: AsyncSession, *, owner: UUID | None) -> dict[TaskState, int]:
    """Open tasks by state."""
    query = select(Task.status, func.count()).where(Task.status.not_in(TERMINAL), _of(owner, Task.project_id))
    rows = await session.execute(query.group_by(Task.status))
    return {TaskState(status): number for status, number in rows}


async def oldest_pending(session: AsyncSession, *, owner: UUID | None) -> datetime | None:
    """When the task that waits the longest was made."""
    query = select(func.min(Task.created_at)).where(Task.status == TaskState.PENDING, _of(owner, Task.project_id))
    return (await session.execute(query)).scalar_one()


async def sandboxes(session: AsyncSession, *, owner: UUID | None, since: datetime) -> dict[SandboxState, int]:
    """Those alive, and those that were begun since then and have ended, by state."""
    alive = select(Sandbox.status, func.count()).where(Sandbox.status.in_(ALIVE), _of(owner, Sandbox.project_id))
    ended = select(Sandbox.status, func.count()).where(
        Sandbox.created_at >= since, Sandbox.status.not_in(ALIVE), _of(owner, Sandbox.project_id)
    )
    rows = await session.execute(alive.group_by(Sandbox.status).union_all(ended.group_by(Sandbox.status)))
    return {SandboxState(status): number for status, number in rows}


async def ended_by_day(session: AsyncSession, *, owner: UUID | None, since: datetime) -> dict[date, dict[Outcome, int]]:
    """Count the tasks that ended by outcome, for each day in UTC."""
    day = func.date_trunc("day", Task.completed_at, "UTC")
    query = select(day, Task.status, Sandbox.verdict, func.count()).outerjoin(Sandbox, Sandbox.id == Task.sandbox_id)
    query = query.where(Task.completed_at >= since, _of(owner, Task.project_id))
    found: dict[date, dict[Outcome, int]] = {}
    for moment, status, verdict, number in await session.execute(query.group_by(day, Task.status, Sandbox.verdict)):
        counts = found.setdefault(moment.date(), dict.fromkeys(FINAL, 0))
        counts[of_task(status, Verdict(verdict) if verdict else None)] += number
    return found


async def spent_by_day(session: AsyncSession, *, owner: UUID | None, since: datetime) -> dict[date, Spent]:
    """What sandboxes have spent, by the day in UTC on which they were begun."""
    day = func.date_trunc("day", Sandbox.created_at, "UTC")
    query = select(day, func.sum(Sandbox.cost_usd), func.sum(Sandbox.simulated_cost_usd), func.sum(Sandbox.tokens))
    query = query.where(Sandbox.created_at >= since, _of(owner, Sandbox.project_id))
    rows = await session.execute(query.group_by(day))
    return {row[0].date(): Spent(float(row[1]), float(row[2]), int(row[3])) for row in rows}


async def alive_by_provider(session: AsyncSession, *, owner: UUID | None) -> dict[str, int]:
    """Living sandboxes by what makes them."""
    query = select(Sandbox.provider, func.count()).where(Sandbox.status.in_(ALIVE), _of(owner, Sandbox.project_id))
    rows = await session.execute(query.group_by(Sandbox.provider))
    return {row[0]: row[1] for row in rows}


async def server_version(session: AsyncSession) -> str:
    """The database server's own."""
    return str((await session.execute(text("SHOW server_version"))).scalar_one())
