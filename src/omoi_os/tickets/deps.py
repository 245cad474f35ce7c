"""The ticket that a path names, if the caller may see it."""

from typing import Annotated
from uuid import UUID

from fastapi import Depends, Path

from omoi_os.accounts.deps import CurrentUser
from omoi_os.http.deps import DbSession
from omoi_os.tickets import service
from omoi_os.tickets.models import Ticket

TicketId = Annotated[UUID, Path(description="Id of a ticket, as `GET /tickets` lists it.")]


async def visible_ticket(ticket_id: TicketId, user: CurrentUser, session: DbSession) -> Ticket:
    """Return the ticket; raise `NotFound` if it does not exist or the caller may not see it."""
    return await service.get_visible(session, ticket_id, user=user)


VisibleTicket = Annotated[Ticket, Depends(visible_ticket)]
