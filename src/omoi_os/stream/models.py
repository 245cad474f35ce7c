"""The table of the outbox."""

from datetime import datetime
from enum import StrEnum
from typing import Any
from uuid import UUID

from sqlalchemy import BigInteger, Identity, Index, func, text
from sqlalchemy.orm import Mapped, mapped_column

from omoi_os.db.base import Base


class Change(StrEnum):
    """The types of the stream that this platform writes."""

    SANDBOX_EVENT = "sandbox.event"  #: a run of a sandbox's events, named by their numbers
    SANDBOX_STATUS = "sandbox.status"
    TASK_STATUS = "task.status"
    TICKET_STATUS = "ticket.status"
    MESSAGE_STATUS = "message.status"


#: Not a change: the newest row of those that were pruned, kept to tell from where on the outbox is whole.
PRUNED = "pruned"

#: A transaction that got its number early may write late. Its rows go behind all that it could see, so that what
#: changed later is told later; readers have not passed that place, as the writer itself was open.
ORDER = "greatest(pg_current_xact_id()::text::bigint, (SELECT max(xid) FROM outbox))"


class Outbox(Base):
    """One change, written in the transaction that makes it. Events are named, not repeated.

    Numbers are given before the commit, so a lower one may become visible later. Readers therefore go by
    (`xid`, `id`) and stop below the oldest transaction that is still open: nothing can appear behind them.
    Two changes of one thing are ordered by its lock: the second writer sees the first one's row and goes behind it.
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
    #: Of a run of events: the first and the last number.
    first_seq: Mapped[int | None] = mapped_column(BigInteger)
    last_seq: Mapped[int | None] = mapped_column(BigInteger)
    #: Of every other change: what is told.
    data: Mapped[dict[str, Any] | None]
    created_at: Mapped[datetime] = mapped_column(server_default=func.now())
