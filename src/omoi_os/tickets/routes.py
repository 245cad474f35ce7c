"""Tickets: what people want done in a project."""

from collections.abc import Sequence
from typing import Annotated
from uuid import UUID

from fastapi import Depends, Query
from sqlalchemy.ext.asyncio import AsyncSession

from omoi_os.accounts.deps import CurrentUser
from omoi_os.accounts.idempotency import OnlyOnce
from omoi_os.http import paging
from omoi_os.http.choices import AnyCase
from omoi_os.http.deps import AppBus, AppSettings, DbSession, Now
from omoi_os.http.problems import problems
from omoi_os.http.routers import make_router
from omoi_os.http.text import Line
from omoi_os.tasks import repository as task_rows
from omoi_os.tasks.schemas import TaskOut
from omoi_os.tickets import repository, service
from omoi_os.tickets.deps import EditableTicket, VisibleTicket
from omoi_os.tickets.models import Ticket, TicketStatus
from omoi_os.tickets.schemas import Priority, TicketCreated, TicketIn, TicketOut, TicketPage, TicketPatch, TicketType

router = make_router("/tickets", tags=["tickets"], refusals=(401, 403, 404, 413, 422, 503))


async def _shown(session: AsyncSession, tickets: Sequence[Ticket]) -> list[TicketOut]:
    """Return the tickets with their tasks, with three queries for any number of them."""
    ids = [ticket.id for ticket in tickets]
    tasks = await repository.tasks_of(session, ids)
    waits = await task_rows.depends_on(session, [task.id for task in tasks])
    upstream = await repository.depends_on(session, ids)
    by_ticket: dict[UUID, list[TaskOut]] = {ticket_id: [] for ticket_id in ids}
    for task in tasks:
        by_ticket[task.ticket_id].append(TaskOut.of(task, waits[task.id]))
    return [TicketOut.of(row, tasks=by_ticket[row.id], depends_on=upstream[row.id]) for row in tickets]


@router.post("", status_code=201, summary="Create a ticket", responses=problems(409))
async def create_ticket(
    user: CurrentUser,
    body: TicketIn,
    once: OnlyOnce,
    session: DbSession,
    bus: AppBus,
    settings: AppSettings,
    now: Now,
) -> TicketCreated:
    """Create a ticket in a project that is named by its id or by its repository.

    If you can see no project on the repository, one is created and `project_created` is true. The ticket becomes one
    task at once, which starts as soon as the concurrency limits allow.
    """
    made = await service.create_ticket(session, bus, user, body, max_attempts=settings.max_attempts, now=now)
    if body.depends_on:
        shown = (await _shown(session, [made.ticket]))[0]
    else:
        shown = TicketOut.of(made.ticket, tasks=[TaskOut.of(made.task, [])], depends_on=[])
    return once.answer(TicketCreated.of_new(shown, project_created=made.project_created))


async def _wanted(
    project_id: Annotated[UUID | None, Query(description="Return only tickets of this project.")] = None,
    status: Annotated[AnyCase[TicketStatus] | None, Query(description="Return only tickets with this status.")] = None,
    priority: Annotated[AnyCase[Priority] | None, Query(description="Return only tickets of this priority.")] = None,
    ticket_type: Annotated[AnyCase[TicketType] | None, Query(description="Return only tickets of this type.")] = None,
    q: Annotated[
        Line | None, Query(description="Return only tickets with this text in their title, in any case.")
    ] = None,
) -> repository.Filter:
    return repository.Filter(project_id, status, priority, ticket_type, q)


@router.get("", summary="List tickets")
async def list_tickets(
    user: CurrentUser,
    session: DbSession,
    wanted: Annotated[repository.Filter, Depends(_wanted)],
    limit: paging.Limit = 50,
    cursor: paging.Cursor = None,
) -> TicketPage:
    """Return the tickets you may see with their tasks, newest first."""
    before = paging.before_id("tickets", cursor)
    rows = await repository.list_tickets(session, user=user, wanted=wanted, limit=limit + 1, before=before)
    tickets, next_cursor = paging.cut(rows, limit, lambda ticket: paging.encode("tickets", ticket.id))
    return TicketPage(items=await _shown(session, tickets), next_cursor=next_cursor)


@router.get("/{ticket_id}", summary="Show a ticket")
async def get_ticket(ticket: VisibleTicket, session: DbSession) -> TicketOut:
    """Return a ticket with its tasks."""
    return (await _shown(session, [ticket]))[0]


@router.patch("/{ticket_id}", summary="Change or cancel a ticket", responses=problems(409))
async def update_ticket(
    ticket: EditableTicket, body: TicketPatch, session: DbSession, bus: AppBus, now: Now
) -> TicketOut:
    """Change the given fields. `status: cancelled` cancels every open task and stops its sandbox."""
    changes = body.model_dump(mode="json", exclude_unset=True)
    ticket = await service.update_ticket(session, bus, ticket, changes, now=now)
    return (await _shown(session, [ticket]))[0]
