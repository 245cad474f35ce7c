"""Queries on tickets."""

from collections.abc import Collection, Sequence
from dataclasses import dataclass
from uuid import UUID

from sqlalchemy import ColumnElement, select
from sqlalchemy.ext.asyncio import AsyncSession

from omoi_os.accounts.models import User
from omoi_os.tasks.lifecycle import TaskState
from omoi_os.tasks.models import Task
from omoi_os.tickets.models import Ticket, TicketDependency
from omoi_os.visibility import visible_to


@dataclass(frozen=True, slots=True)
class Filter:
    """Which tickets to list; None does not restrict."""

    project_id: UUID | None = None
    status: str | None = None
    priority: str | None = None
    ticket_type: str | None = None
    #: Text in the title, in any case.
    words: str | None = None

    def conditions(self) -> list[ColumnElement[bool]]:
        """Return the conditions of the query."""
        wanted = {
            Ticket.project_id: self.project_id,
            Ticket.status: self.status,
            Ticket.priority: self.priority,
            Ticket.ticket_type: self.ticket_type,
        }
        exact = [column == value for column, value in wanted.items() if value is not None]
        return exact if self.words is None else [*exact, Ticket.title.icontains(self.words, autoescape=True)]


async def get_visible(session: AsyncSession, ticket_id: UUID, *, user: User) -> Ticket | None:
    """Return a ticket that the user may see."""
    query = select(Ticket).where(Ticket.id == ticket_id, visible_to(user, Ticket.project_id))
    return (await session.execute(query)).scalar_one_or_none()


async def list_tickets(
    session: AsyncSession, *, user: User, wanted: Filter, limit: int, before: UUID | None
) -> Sequence[Ticket]:
    """Return the tickets that the user may see, newest first."""
    query = select(Ticket).where(visible_to(user, Ticket.project_id), *wanted.conditions())
    if before is not None:
        query = query.where(Ticket.id < before)
    return (await session.execute(query.order_by(Ticket.id.desc()).limit(limit))).scalars().all()


async def in_project(session: AsyncSession, project_id: UUID, ticket_ids: Collection[UUID]) -> Sequence[Ticket]:
    """Return those of these tickets that belong to the project."""
    query = select(Ticket).where(Ticket.project_id == project_id, Ticket.id.in_(ticket_ids)).order_by(Ticket.id)
    return (await session.execute(query)).scalars().all()


async def depends_on(session: AsyncSession, ticket_ids: Collection[UUID]) -> dict[UUID, list[UUID]]:
    """Map each of these tickets to the tickets it depends on."""
    found: dict[UUID, list[UUID]] = {ticket_id: [] for ticket_id in ticket_ids}
    query = select(TicketDependency).where(TicketDependency.ticket_id.in_(ticket_ids))
    for row in (await session.execute(query.order_by(TicketDependency.depends_on_id))).scalars():
        found[row.ticket_id].append(row.depends_on_id)
    return found


async def tasks_of(session: AsyncSession, ticket_ids: Collection[UUID]) -> Sequence[Task]:
    """Return the tasks of these tickets, oldest first."""
    query = select(Task).where(Task.ticket_id.in_(ticket_ids)).order_by(Task.id)
    return (await session.execute(query)).scalars().all()


async def lock_tasks(session: AsyncSession, ticket_ids: Collection[UUID]) -> list[UUID]:
    """Lock the tasks of these tickets that are not cancelled, and return their ids.

    Without the lock a task could complete after it was found open and before another one depends on it.
    """
    return await _lock(session, Task.ticket_id.in_(ticket_ids))


async def lock_tasks_by_id(session: AsyncSession, project_id: UUID, task_ids: Collection[UUID]) -> list[UUID]:
    """Lock those of these tasks that belong to the project and are not cancelled, and return their ids."""
    return await _lock(session, Task.project_id == project_id, Task.id.in_(task_ids))


async def _lock(session: AsyncSession, *conditions: ColumnElement[bool]) -> list[UUID]:
    query = select(Task.id).where(*conditions, Task.status != TaskState.CANCELLED).order_by(Task.id)
    return list((await session.execute(query.with_for_update(read=True))).scalars())
