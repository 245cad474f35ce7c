"""The ticket that a path names, if the caller may see or change it."""

from typing import Annotated
from uuid import UUID

from fastapi import Depends, Path

from omoi_os.accounts.deps import CurrentUser
from omoi_os.http.deps import DbSession
from omoi_os.projects import permissions
from omoi_os.projects.permissions import Permission
from omoi_os.tickets import service
from omoi_os.tickets.models import Ticket

TicketId = Annotated[UUID, Path(description="Id of a ticket, as `GET /tickets` lists it.")]


async def visible_ticket(ticket_id: TicketId, user: CurrentUser, session: DbSession) -> Ticket:
    """Return the ticket; raise `NotFound` if it does not exist or the caller may not see it."""
    return await service.get_visible(session, ticket_id, user=user)


VisibleTicket = Annotated[Ticket, Depends(visible_ticket)]


async def editable_ticket(ticket: VisibleTicket, user: CurrentUser, session: DbSession) -> Ticket:
    """Return the ticket; raise `Forbidden` if the caller may see it but not change it."""
    await permissions.require(session, user, ticket.project_id, Permission.EDIT)
    return ticket


EditableTicket = Annotated[Ticket, Depends(editable_ticket)]
