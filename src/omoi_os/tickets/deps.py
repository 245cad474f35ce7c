"""The ticket that a path names, if the caller may see it."""

from typing import Annotated
from uuid import UUID

from fastapi import Depends

from omoi_os.accounts.deps import CurrentUser
from omoi_os.http.deps import DbSession
from omoi_os.tickets import service
from omoi_os.tickets.models import Ticket


async def visible_ticket(ticket_id: UUID, user: CurrentUser, session: DbSession) -> Ticket:
    """The ticket; 404 when there is none or it is another's."""
    return await service.get_visible(session, ticket_id, user=user)


VisibleTicket = Annotated[Ticket, Depends(visible_ticket)]
