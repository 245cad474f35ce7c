"""The table of the outbox."""

from datetime import datetime
from enum import StrEnum
from typing import Any
from uuid import UUID

from sqlalchemy import BigInteger, Identity, Index, func, text
from sqlalchemy.orm import Mapped, mapped_column

from omoi_os.db.base import Base


class Change(StrEnum):
    """The types of changes that the stream publishes."""

    SANDBOX_EVENT = "sandbox.event"  #: a run of a sandbox's events, by their numbers
    SANDBOX_STATUS = "sandbox.status"
    TASK_STATUS = "task.status"
    TICKET_STATUS = "ticket.status"
    MESSAGE_STATUS = "message.status"


#: Not a change: marks the newest deleted row, behind which the outbox is complete.
PRUNED = "pruned"

#: A transaction that got its id early may write late. Its rows go behind all rows it can see, so that later changes are
#: published later. Readers have not passed that position, because the writer's transaction is still open.
ORDER = "greatest(pg_current_xact_id()::text::bigint, (SELECT max(xid) FROM outbox))"


class Outbox(Base):
    """One change, written in the transaction that makes it. Events are referenced by number, not copied.

    Ids are assigned before the commit, so a lower id may become visible later. Readers therefore order by (`xid`, `id`)
    and stop below the oldest open transaction: no row can appear behind their position. Two changes of the same row are
    ordered by its lock: the second writer sees the first one's outbox row and goes behind it.
    """

    __tablename__ = "outbox"
    __table_args__ = (Index("ix_outbox_created_at", "created_at"),)

    xid: Mapped[int] = mapped_column(
        BigInteger,
        primary_key=True,
        autoincrement=False,
        default=text(ORDER),
        server_default=text("pg_current_xact_id()::text::bigint"),
    )
    id: Mapped[int] = mapped_column(BigInteger, Identity(always=True), primary_key=True)
    change: Mapped[str]
    project_id: Mapped[UUID]
    sandbox_id: Mapped[str | None]
    #: For a run of events: the first and the last number.
    first_seq: Mapped[int | None] = mapped_column(BigInteger)
    last_seq: Mapped[int | None] = mapped_column(BigInteger)
    #: For every other change: its data.
    data: Mapped[dict[str, Any] | None]
    created_at: Mapped[datetime] = mapped_column(server_default=func.now())
