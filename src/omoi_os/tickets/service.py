"""Creates and changes tickets. Each function runs in the caller's transaction."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import Any
from uuid import UUID

from sqlalchemy.ext.asyncio import AsyncSession

from omoi_os.accounts.models import User
from omoi_os.bus.base import Bus, Topic
from omoi_os.errors import Conflict, Invalid, NotFound
from omoi_os.ids import uuid7
from omoi_os.projects import repository as project_rows
from omoi_os.projects import service as projects
from omoi_os.projects.models import Project
from omoi_os.projects.schemas import ProjectIn
from omoi_os.protocol.assignment import ExecutionMode
from omoi_os.tasks import repository as task_rows
from omoi_os.tasks import service as tasks
from omoi_os.tasks.lifecycle import OPEN, TaskState
from omoi_os.tasks.models import PRIORITY_RANK, Task
from omoi_os.tasks.schemas import TaskIn
from omoi_os.tasks.service import Terms
from omoi_os.tickets import repository
from omoi_os.tickets.models import Ticket, TicketDependency, TicketStatus
from omoi_os.tickets.schemas import TicketIn


@dataclass(frozen=True, slots=True)
class NewTicket:
    """A ticket that was just created, its task, and whether its project was created with it."""

    ticket: Ticket
    task: Task
    project_created: bool


async def create_ticket(
    session: AsyncSession,
    bus: Bus,
    user: User,
    wanted: TicketIn,
    *,
    max_attempts: int,
    now: datetime,
    terms: Terms = Terms(),  # noqa: B008  frozen
) -> NewTicket:
    """Create a ticket and its task; raise `Forbidden` if the user may only read the project."""
    # Lock the project: two tickets with the same title must not pick the same branch.
    project, project_created = await _lock_project(session, user, wanted, now=now)
    if wanted.depends_on:
        await _check_dependencies(session, project, wanted.depends_on)
    ticket = Ticket(
        id=uuid7(),
        project_id=project.id,
        title=wanted.title,
        description=wanted.description,
        priority=wanted.priority,
        ticket_type=wanted.ticket_type,
        workflow_mode=wanted.workflow_mode,
        status=TicketStatus.BACKLOG,
        acceptance=wanted.acceptance,
        budget_usd=wanted.budget_usd,
        created_by=user.id,
        created_at=now,
        updated_at=now,
    )
    session.add(ticket)
    upstream = set(wanted.depends_on)
    task = await tasks.create_task(
        session,
        bus,
        ticket=ticket,
        title=wanted.title,
        description=wanted.description,
        task_type=ExecutionMode.IMPLEMENTATION,
        max_attempts=max_attempts,
        depends_on=await repository.lock_tasks(session, upstream) if upstream else (),
        terms=terms,
    )
    session.add_all(TicketDependency(ticket_id=ticket.id, depends_on_id=other) for other in upstream)
    return NewTicket(ticket, task, project_created)


async def add_task(session: AsyncSession, bus: Bus, ticket: Ticket, wanted: TaskIn, *, max_attempts: int) -> Task:
    """Add a task to a ticket; raise `Conflict` if the ticket is cancelled."""
    project = await project_rows.lock(session, ticket.project_id)
    if project.deleted_at is not None or ticket.status == TicketStatus.CANCELLED:
        raise Conflict(f"ticket {ticket.id} is cancelled or its project was deleted; create a new ticket")
    locked = await repository.lock_tasks_by_id(session, project.id, set(wanted.depends_on))
    missing = next((task_id for task_id in wanted.depends_on if task_id not in locked), None)
    if missing is not None:
        raise Invalid(f"depends_on: this project has no task {missing}, or the task is cancelled")
    return await tasks.create_task(
        session,
        bus,
        ticket=ticket,
        title=wanted.title,
        description=wanted.description,
        task_type=wanted.task_type,
        max_attempts=max_attempts,
        depends_on=wanted.depends_on,
    )


async def get_visible(session: AsyncSession, ticket_id: UUID, *, user: User) -> Ticket:
    """Return a ticket; raise `NotFound` if it does not exist or the user may not see it."""
    ticket = await repository.get_visible(session, ticket_id, user=user)
    if ticket is None:
        raise NotFound(f"there is no ticket {ticket_id}")
    return ticket


async def update_ticket(
    session: AsyncSession, bus: Bus, ticket: Ticket, changes: Mapping[str, Any], *, now: datetime
) -> Ticket:
    """Change the given fields. Open tasks get the new priority; tasks that have not started get the new text."""
    before = (ticket.title, ticket.description)
    fields = {name: value for name, value in changes.items() if name != "status"}
    for task_id in [task.id for task in await task_rows.of_ticket(session, ticket.id)]:
        task = await task_rows.lock(session, task_id)
        if task.status in OPEN and "priority" in fields:
            task.priority, task.priority_rank = fields["priority"], PRIORITY_RANK[fields["priority"]]
        waits = task.status in (TaskState.PENDING, TaskState.BLOCKED) and task.attempt == 1
        if waits and (task.title, task.description) == before:
            task.title = fields.get("title", task.title)
            task.description = fields.get("description", task.description)
        # The dispatcher skips tasks that are locked here: announce them again.
        await bus.announce(session, Topic.WORK, "")
    for name, value in fields.items():
        setattr(ticket, name, value)
    ticket.updated_at = now
    await session.flush()
    if changes.get("status") is not None:
        await _cancel(session, bus, ticket, now=now)
    return ticket


async def _cancel(session: AsyncSession, bus: Bus, ticket: Ticket, *, now: datetime) -> None:
    """Cancel the open tasks of a ticket. Can be repeated. Raise `Conflict` if the ticket is done."""
    if ticket.status == TicketStatus.DONE:
        raise Conflict(f"ticket {ticket.id} is done, so it cannot be cancelled")
    for task in await task_rows.of_ticket(session, ticket.id):
        if task.status in OPEN:
            await tasks.cancel_task(session, bus, task, now=now)


async def _lock_project(session: AsyncSession, user: User, wanted: TicketIn, *, now: datetime) -> tuple[Project, bool]:
    """Return the locked project of a new ticket, and whether it is new."""
    if wanted.project_id is not None:
        return await projects.lock_editable(session, wanted.project_id, user=user), False
    repository_of = ProjectIn(github_owner=wanted.github_owner, github_repo=wanted.github_repo)
    found, is_new = await projects.find_or_create(session, user, repository_of, now=now)
    return await projects.lock_editable(session, found.id, user=user), is_new


async def _check_dependencies(session: AsyncSession, project: Project, wanted: Sequence[UUID]) -> None:
    found = {ticket.id: ticket for ticket in await repository.in_project(session, project.id, set(wanted))}
    for ticket_id in wanted:
        if ticket_id not in found:
            raise Invalid(f"depends_on: this project has no ticket {ticket_id}")
        if found[ticket_id].status == TicketStatus.CANCELLED:
            raise Conflict(f"depends_on: ticket {ticket_id} is cancelled, so it will not be done")
