"""Queries on messages. To change the messages of a sandbox that has not ended, hold the lock on its row."""

from collections.abc import Collection, Sequence
from datetime import datetime
from typing import Literal
from uuid import UUID

from sqlalchemy import ColumnElement, Select, case, func, or_, select, update
from sqlalchemy.ext.asyncio import AsyncSession

from omoi_os.sandboxes.lifecycle import ENDED, Purpose
from omoi_os.sandboxes.models import Sandbox, SandboxMessage
from omoi_os.sandboxes.repository import with_same_subject

_NO_SYNC = {"synchronize_session": False}


async def history(
    session: AsyncSession, sandbox_id: str, *, order: Literal["asc", "desc"], limit: int, beyond: UUID | None
) -> Sequence[SandboxMessage]:
    """Return the messages to a sandbox, in the order in which they were sent or in reverse."""
    query = select(SandboxMessage).where(SandboxMessage.sandbox_id == sandbox_id).limit(limit)
    query = query.order_by(SandboxMessage.id.asc() if order == "asc" else SandboxMessage.id.desc())
    if beyond is not None:
        query = query.where(SandboxMessage.id > beyond if order == "asc" else SandboxMessage.id < beyond)
    return (await session.execute(query)).scalars().all()


async def acknowledge(session: AsyncSession, sandbox_id: str, ids: Collection[UUID], *, now: datetime) -> set[UUID]:
    """Acknowledge messages of a sandbox; return the ids that are its own."""
    statement = (
        update(SandboxMessage)
        .where(SandboxMessage.sandbox_id == sandbox_id, SandboxMessage.id.in_(ids))
        .values(acked_at=func.coalesce(SandboxMessage.acked_at, now))
        .returning(SandboxMessage.id)
    )
    return set((await session.execute(statement, execution_options=_NO_SYNC)).scalars())


async def deliver(
    session: AsyncSession, sandbox_id: str, message_id: UUID, *, now: datetime
) -> tuple[datetime, datetime | None] | None:
    """Set the time of delivery once; return it and the time the message was seen, or None if nothing was set."""
    statement = (
        update(SandboxMessage)
        .where(
            SandboxMessage.sandbox_id == sandbox_id,
            SandboxMessage.id == message_id,
            SandboxMessage.delivered_at.is_(None),
        )
        .values(
            # The request to the model may be recorded before the event that reports the delivery.
            delivered_at=func.least(now, SandboxMessage.seen_at),
            acked_at=func.coalesce(SandboxMessage.acked_at, now),
        )
        .returning(SandboxMessage.delivered_at, SandboxMessage.seen_at)
    )
    row = (await session.execute(statement, execution_options=_NO_SYNC)).one_or_none()
    return (row[0] or now, row[1]) if row else None


async def see(
    session: AsyncSession, sandbox_id: str, ids: Collection[UUID], *, now: datetime
) -> Sequence[tuple[UUID, datetime | None, datetime]]:
    """Set the time these messages were seen, once; return each message that was set with both of its times."""
    statement = (
        update(SandboxMessage)
        .where(SandboxMessage.sandbox_id == sandbox_id, SandboxMessage.id.in_(ids), SandboxMessage.seen_at.is_(None))
        # A caller that waited for the lock has an earlier `now` than the delivery that was stored before.
        .values(seen_at=func.greatest(now, SandboxMessage.delivered_at))
        .returning(SandboxMessage.id, SandboxMessage.delivered_at, SandboxMessage.seen_at)
    )
    rows = (await session.execute(statement, execution_options=_NO_SYNC)).all()
    return sorted(((row[0], row[1], row[2] or now) for row in rows), key=lambda row: row[0])


async def note_kept(session: AsyncSession, sandbox: Sandbox, found: Collection[str], *, replaces: bool) -> None:
    """Record which messages of a sandbox's task its saved conversation contains.

    `found` comes from the sandbox, so only ids of the task's own messages count. With `replaces` the conversation was
    saved from its start, and what was recorded before is void.
    """
    if replaces:
        lost = update(SandboxMessage).where(
            SandboxMessage.sandbox_id.in_(_sandboxes_of(sandbox)), SandboxMessage.kept_in == sandbox.id
        )
        await session.execute(lost.values(kept_in=None), execution_options=_NO_SYNC)
    if not found:
        return
    own = select(SandboxMessage.id).where(SandboxMessage.sandbox_id.in_(_sandboxes_of(sandbox)))
    ids = [each for each in (await session.execute(own)).scalars() if str(each) in found]
    kept = update(SandboxMessage).where(SandboxMessage.id.in_(ids)).values(kept_in=sandbox.id)
    await session.execute(kept, execution_options=_NO_SYNC)


async def move_lost(session: AsyncSession, sandbox: Sandbox, *, kept_in: str | None) -> Sequence[UUID]:
    """Queue the messages for a task's new sandbox that the resumed conversation, that of `kept_in`, lacks."""
    return await _requeue(session, sandbox, _earlier(sandbox), SandboxMessage.kept_in.is_distinct_from(kept_in or ""))


async def move_carried(session: AsyncSession, sandbox: Sandbox, *, kept_in: str, now: datetime) -> None:
    """Move the messages without a receipt that the resumed conversation contains to a task's new sandbox.

    The next request to the model contains them, so they are not handed out again.
    """
    statement = (
        update(SandboxMessage)
        .where(
            SandboxMessage.sandbox_id.in_(_earlier(sandbox)),
            SandboxMessage.kept_in == kept_in,
            or_(SandboxMessage.delivered_at.is_(None), SandboxMessage.seen_at.is_(None)),
        )
        .values(
            sandbox_id=sandbox.id,
            acked_at=func.coalesce(SandboxMessage.acked_at, now),
            delivered_at=func.coalesce(SandboxMessage.delivered_at, now),
        )
    )
    await session.execute(statement, execution_options=_NO_SYNC)


async def requeue_all(session: AsyncSession, sandbox: Sandbox) -> Sequence[UUID]:
    """Queue every acknowledged message of a sandbox's task again, for an agent that starts without a conversation."""
    return await _requeue(session, sandbox, _sandboxes_of(sandbox), SandboxMessage.acked_at.is_not(None))


async def _requeue(
    session: AsyncSession, sandbox: Sandbox, sandboxes: Select[str], condition: ColumnElement[bool]
) -> Sequence[UUID]:
    was_delivered = case((SandboxMessage.delivered_at.is_not(None), 1), else_=0)
    statement = (
        update(SandboxMessage)
        .where(SandboxMessage.sandbox_id.in_(sandboxes), condition)
        .values(
            sandbox_id=sandbox.id,
            acked_at=None,
            delivered_at=None,
            seen_at=None,
            kept_in=None,
            redeliveries=SandboxMessage.redeliveries + was_delivered,
        )
        .returning(SandboxMessage.id)
    )
    return sorted((await session.execute(statement, execution_options=_NO_SYNC)).scalars())


def _sandboxes_of(sandbox: Sandbox) -> Select[str]:
    """Select the work sandboxes of a sandbox's task or spec, including itself."""
    return select(Sandbox.id).where(with_same_subject(sandbox), Sandbox.purpose == Purpose.WORK)


def _earlier(sandbox: Sandbox) -> Select[str]:
    """Select the earlier work sandboxes of a sandbox's task or spec, all ended."""
    return _sandboxes_of(sandbox).where(Sandbox.status.in_(ENDED), Sandbox.id != sandbox.id)
