"""Queries on tasks."""

from collections.abc import Collection, Sequence
from dataclasses import dataclass
from datetime import datetime
from uuid import UUID

from sqlalchemy import ColumnElement, func, or_, select, text
from sqlalchemy import insert as insert_into
from sqlalchemy.ext.asyncio import AsyncSession
from sqlalchemy.orm import aliased

from omoi_os.accounts.models import User
from omoi_os.tasks.lifecycle import ACTIVE, TaskState
from omoi_os.tasks.models import Task, TaskDependency
from omoi_os.visibility import visible_to

#: The advisory lock for claiming tasks, so that limits hold across orchestrators.
CLAIM_LOCK = 0x6F6D6F6A


async def get(session: AsyncSession, task_id: UUID) -> Task | None:
    """Return a task."""
    return await session.get(Task, task_id)


async def get_visible(session: AsyncSession, task_id: UUID, *, user: User) -> Task | None:
    """Return a task that the user may see."""
    query = select(Task).where(Task.id == task_id, visible_to(user, Task.project_id))
    return (await session.execute(query)).scalar_one_or_none()


async def insert(session: AsyncSession, **values: object) -> Task:
    """Insert a task and return it as it is stored."""
    return (await session.execute(insert_into(Task).values(values).returning(Task))).scalar_one()


async def lock(session: AsyncSession, task_id: UUID) -> Task:
    """Lock the row of an existing task until the transaction ends, and return it freshly read."""
    query = select(Task).where(Task.id == task_id).with_for_update().execution_options(populate_existing=True)
    return (await session.execute(query)).scalar_one()


async def list_tasks(
    session: AsyncSession,
    *,
    user: User,
    status: str | None = None,
    ticket_id: UUID | None = None,
    project_id: UUID | None = None,
    has_sandbox: bool | None = None,
    limit: int,
    before: UUID | None = None,
) -> Sequence[Task]:
    """Return the tasks that the user may see, newest first."""
    query = select(Task).order_by(Task.id.desc()).limit(limit)
    conditions: list[ColumnElement[bool]] = [visible_to(user, Task.project_id)]
    if status is not None:
        conditions.append(Task.status == status)
    if ticket_id is not None:
        conditions.append(Task.ticket_id == ticket_id)
    if project_id is not None:
        conditions.append(Task.project_id == project_id)
    if has_sandbox is not None:
        conditions.append(Task.sandbox_id.is_not(None) if has_sandbox else Task.sandbox_id.is_(None))
    if before is not None:
        conditions.append(Task.id < before)
    return (await session.execute(query.where(*conditions))).scalars().all()


async def depends_on(session: AsyncSession, task_ids: Collection[UUID]) -> dict[UUID, list[UUID]]:
    """Map each of these tasks to the tasks it depends on."""
    found: dict[UUID, list[UUID]] = {task_id: [] for task_id in task_ids}
    query = select(TaskDependency).where(TaskDependency.task_id.in_(task_ids)).order_by(TaskDependency.depends_on_id)
    for row in (await session.execute(query)).scalars():
        found[row.task_id].append(row.depends_on_id)
    return found


async def open_dependencies(session: AsyncSession, task_id: UUID) -> int:
    """Count the tasks that this one depends on and that are not completed."""
    upstream = aliased(Task)
    query = (
        select(func.count())
        .select_from(TaskDependency)
        .join(upstream, upstream.id == TaskDependency.depends_on_id)
        .where(TaskDependency.task_id == task_id, upstream.status != TaskState.COMPLETED)
    )
    return (await session.execute(query)).scalar_one()


async def blocked_dependents(session: AsyncSession, task_id: UUID) -> Sequence[Task]:
    """Lock and return the blocked tasks that depend on this one."""
    query = (
        select(Task)
        .join(TaskDependency, TaskDependency.task_id == Task.id)
        .where(TaskDependency.depends_on_id == task_id, Task.status == TaskState.BLOCKED)
        .with_for_update(of=Task)
    )
    return (await session.execute(query)).scalars().all()


async def of_ticket(session: AsyncSession, ticket_id: UUID) -> Sequence[Task]:
    """Return the tasks of a ticket, oldest first."""
    query = select(Task).where(Task.ticket_id == ticket_id).order_by(Task.id)
    return (await session.execute(query)).scalars().all()


async def states_of_ticket(session: AsyncSession, ticket_id: UUID) -> list[TaskState]:
    """Return the states of a ticket's tasks."""
    query = select(Task.status).where(Task.ticket_id == ticket_id)
    return [TaskState(status) for status in (await session.execute(query)).scalars()]


async def branch_names_like(session: AsyncSession, project_id: UUID, name: str) -> set[str]:
    """Return the branch names of this project's tasks that start with this one, or with it written without slashes."""
    like = [Task.branch_name.startswith(start, autoescape=True) for start in (name, name.replace("/", "-"))]
    query = select(Task.branch_name).where(Task.project_id == project_id, or_(*like))
    return {found for found in (await session.execute(query)).scalars() if found is not None}


async def lock_claims(session: AsyncSession) -> None:
    """Wait until no other orchestrator claims tasks, and keep others out until the transaction ends."""
    await session.execute(text("SELECT pg_advisory_xact_lock(:key)"), {"key": CLAIM_LOCK})


async def earliest_not_before(session: AsyncSession, *, now: datetime) -> datetime | None:
    """Return when the next task that is backing off becomes ready."""
    query = select(func.min(Task.not_before)).where(Task.status == TaskState.PENDING, Task.not_before > now)
    return (await session.execute(query)).scalar_one()


async def verifying(session: AsyncSession) -> Sequence[UUID]:
    """Return the tasks whose result must be checked for the first time."""
    query = select(Task.id).where(Task.status == TaskState.VERIFYING).order_by(Task.id)
    return (await session.execute(query)).scalars().all()


@dataclass(frozen=True, slots=True)
class Requested:
    """A task whose stored commit somebody asked to verify again."""

    task_id: UUID
    project_id: UUID


async def requested_verifications(session: AsyncSession) -> list[Requested]:
    """Return the requested verifications, oldest first."""
    query = (
        select(Task.id, Task.project_id)
        .where(Task.verification_requested_at.is_not(None))
        .order_by(Task.verification_requested_at, Task.id)
    )
    return [Requested(*row) for row in (await session.execute(query)).all()]


@dataclass(frozen=True, slots=True)
class ActiveBranch:
    """The branch of a task that an agent or the verifier works on."""

    task_id: UUID
    name: str | None
    status: str


async def active_branches(session: AsyncSession, project_id: UUID) -> Sequence[ActiveBranch]:
    """Return the branches of the project's active tasks."""
    query = select(Task.id, Task.branch_name, Task.status).where(Task.project_id == project_id, Task.status.in_(ACTIVE))
    return [ActiveBranch(row[0], row[1], row[2]) for row in await session.execute(query)]
