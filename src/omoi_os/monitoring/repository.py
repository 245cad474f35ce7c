"""Queries over open tasks and sandboxes and over the last days; none of them reads the whole history."""

from dataclasses import dataclass
from datetime import date, datetime

from sqlalchemy import func, select, text
from sqlalchemy.ext.asyncio import AsyncSession

from omoi_os.accounts.models import User
from omoi_os.sandboxes.lifecycle import ALIVE, SandboxState
from omoi_os.sandboxes.models import Sandbox
from omoi_os.tasks.lifecycle import TERMINAL, TaskState
from omoi_os.tasks.models import Task
from omoi_os.tasks.outcomes import FINAL, Outcome, of_task
from omoi_os.tasks.verdict import Verdict
from omoi_os.visibility import visible_to


@dataclass(frozen=True, slots=True)
class Spent:
    """What the sandboxes created on one day have spent."""

    cost_usd: float
    simulated_cost_usd: float
    tokens: int


async def open_tasks(session: AsyncSession, *, user: User) -> dict[TaskState, int]:
    """Count the open tasks by state."""
    query = select(Task.status, func.count()).where(Task.status.not_in(TERMINAL), visible_to(user, Task.project_id))
    rows = await session.execute(query.group_by(Task.status))
    return {TaskState(status): number for status, number in rows}


async def oldest_pending(session: AsyncSession, *, user: User) -> datetime | None:
    """Return when the oldest pending task was created."""
    query = select(func.min(Task.created_at)).where(Task.status == TaskState.PENDING, visible_to(user, Task.project_id))
    return (await session.execute(query)).scalar_one()


async def sandboxes(session: AsyncSession, *, user: User, since: datetime) -> dict[SandboxState, int]:
    """Count the sandboxes that exist, and those created since then that have ended, by state."""
    alive = select(Sandbox.status, func.count()).where(Sandbox.status.in_(ALIVE), visible_to(user, Sandbox.project_id))
    ended = select(Sandbox.status, func.count()).where(
        Sandbox.created_at >= since, Sandbox.status.not_in(ALIVE), visible_to(user, Sandbox.project_id)
    )
    rows = await session.execute(alive.group_by(Sandbox.status).union_all(ended.group_by(Sandbox.status)))
    return {SandboxState(status): number for status, number in rows}


async def ended_by_day(session: AsyncSession, *, user: User, since: datetime) -> dict[date, dict[Outcome, int]]:
    """Count the tasks that ended by outcome, for each day in UTC."""
    day = func.date_trunc("day", Task.completed_at, "UTC")
    query = select(day, Task.status, Sandbox.verdict, func.count()).outerjoin(Sandbox, Sandbox.id == Task.sandbox_id)
    query = query.where(Task.completed_at >= since, visible_to(user, Task.project_id))
    found: dict[date, dict[Outcome, int]] = {}
    for moment, status, verdict, number in await session.execute(query.group_by(day, Task.status, Sandbox.verdict)):
        counts = found.setdefault(moment.date(), dict.fromkeys(FINAL, 0))
        counts[of_task(status, Verdict(verdict) if verdict else None)] += number
    return found


async def spent_by_day(session: AsyncSession, *, user: User, since: datetime) -> dict[date, Spent]:
    """Sum up what sandboxes have spent, by the day in UTC on which they were created."""
    day = func.date_trunc("day", Sandbox.created_at, "UTC")
    query = select(day, func.sum(Sandbox.cost_usd), func.sum(Sandbox.simulated_cost_usd), func.sum(Sandbox.tokens))
    query = query.where(Sandbox.created_at >= since, visible_to(user, Sandbox.project_id))
    rows = await session.execute(query.group_by(day))
    return {row[0].date(): Spent(float(row[1]), float(row[2]), int(row[3])) for row in rows}


async def alive_by_provider(session: AsyncSession, *, user: User) -> dict[str, int]:
    """Count the sandboxes that exist by provider."""
    query = select(Sandbox.provider, func.count()).where(
        Sandbox.status.in_(ALIVE), visible_to(user, Sandbox.project_id)
    )
    rows = await session.execute(query.group_by(Sandbox.provider))
    return {row[0]: row[1] for row in rows}


async def server_version(session: AsyncSession) -> str:
    """Return the version of the database server."""
    return str((await session.execute(text("SHOW server_version"))).scalar_one())
