"""Collects what a transaction has to send or write when it commits, so that it is done once."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from typing import Any, Literal, TypeVar

from sqlalchemy import event
from sqlalchemy.ext.asyncio import AsyncSession
from sqlalchemy.orm import Session, SessionTransaction

Moment = Literal["before_commit", "after_commit"]
Item = TypeVar("Item")


@dataclass(slots=True)
class _Collected:
    """The items of one transaction. The session's next transaction starts with none."""

    send: Callable[[Session, Sequence[Any]], None]
    transaction: SessionTransaction | None = None
    items: list[Any] = field(default_factory=list)

    def flush(self, session: Session) -> None:
        if session.in_nested_transaction():
            return  # a savepoint was released; the transaction itself may still fail
        items, self.items = self.items, []
        if items and session.get_transaction() is self.transaction:
            self.send(session, items)


def collect(moment: Moment, session: AsyncSession, item: Item, send: Callable[[Session, Sequence[Item]], None]) -> None:
    """Pass the transaction's items to `send` when it commits, and not if it rolls back."""
    sync = session.sync_session
    collected: _Collected | None = sync.info.get(send)
    if collected is None:
        collected = sync.info[send] = _Collected(send)
        event.listen(sync, moment, collected.flush)
    transaction = sync.get_transaction() or sync.begin()
    if transaction is not collected.transaction:
        collected.transaction, collected.items = transaction, []
    collected.items.append(item)
