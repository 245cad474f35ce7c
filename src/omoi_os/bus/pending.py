"""Wake-ups that are sent when a session commits."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from typing import Literal

from sqlalchemy import event
from sqlalchemy.ext.asyncio import AsyncSession
from sqlalchemy.orm import Session, SessionTransaction

from omoi_os.bus.base import Topic

Announcement = tuple[Topic, str]
Send = Callable[[Session, Sequence[Announcement]], None]


@dataclass(slots=True)
class _Pending:
    """The wake-ups of one transaction. The session's next transaction starts with none."""

    send: Send
    transaction: SessionTransaction | None = None
    announced: list[Announcement] = field(default_factory=list)

    def flush(self, session: Session) -> None:
        if session.in_nested_transaction():
            return  # a savepoint was released; the transaction itself may still fail
        announced, self.announced = self.announced, []
        if announced and session.get_transaction() is self.transaction:
            self.send(session, announced)


def announce_at(
    moment: Literal["before_commit", "after_commit"], session: AsyncSession, announcement: Announcement, send: Send
) -> None:
    """Pass the transaction's wake-ups to `send` when it commits, and not if it rolls back."""
    sync = session.sync_session
    pending: _Pending | None = sync.info.get(_Pending)
    if pending is None or pending.send != send:
        pending = sync.info[_Pending] = _Pending(send)
        event.listen(sync, moment, pending.flush)
    transaction = sync.get_transaction() or sync.begin()
    if transaction is not pending.transaction:
        pending.transaction, pending.announced = transaction, []
    pending.announced.append(announcement)
