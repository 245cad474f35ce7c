"""Tables of tickets."""

from datetime import datetime
from enum import StrEnum
from uuid import UUID

from sqlalchemy import ForeignKey, Index, func
from sqlalchemy.orm import Mapped, mapped_column

from omoi_os.db.base import Base
from omoi_os.ids import uuid7


class TicketStatus(StrEnum):
    """Derived from the ticket's tasks."""

    BACKLOG = "backlog"  #: no task has started
    ANALYZING = "analyzing"  #: its spec is being worked out
    BUILDING = "building"  #: an agent is working, or more tasks are queued after the first
    TESTING = "testing"  #: a result is being verified
    DONE = "done"  #: every task is completed, apart from cancelled ones
    BLOCKED = "blocked"  #: every open task waits for another task
    FAILED = "failed"  #: no task is open and one has failed; a person can retry it
    CANCELLED = "cancelled"  #: every task was cancelled


class Ticket(Base):
    """What a person wants done in a project."""

    __tablename__ = "tickets"
    __table_args__ = (Index("ix_tickets_project_id_id", "project_id", "id"),)

    id: Mapped[UUID] = mapped_column(primary_key=True, default=uuid7)
    project_id: Mapped[UUID] = mapped_column(ForeignKey("projects.id"))
    title: Mapped[str]
    description: Mapped[str]
    priority: Mapped[str]
    ticket_type: Mapped[str]
    workflow_mode: Mapped[str]
    status: Mapped[str]
    acceptance: Mapped[list[str]]
    budget_usd: Mapped[float | None]
    created_by: Mapped[UUID] = mapped_column(ForeignKey("users.id"))
    created_at: Mapped[datetime] = mapped_column(server_default=func.now())
    updated_at: Mapped[datetime] = mapped_column(server_default=func.now())


class TicketDependency(Base):
    """One ticket depends on another."""

    __tablename__ = "ticket_dependencies"

    ticket_id: Mapped[UUID] = mapped_column(ForeignKey("tickets.id"), primary_key=True)
    depends_on_id: Mapped[UUID] = mapped_column(ForeignKey("tickets.id"), primary_key=True, index=True)
