"""Queries on messages. Whoever changes a sandbox's messages holds its row, or it has ended."""

from collections.abc import Collection, Sequence
from datetime import datetime
from typing import Literal
from uuid import UUID

from sqlalchemy import and_, func, select, update
from sqlalchemy.ext.asyncio import AsyncSession

from omoi_os.sandboxes.lifecycle import ENDED, Purpose
from omoi_os.sandboxes.models import Sandbox, SandboxMessage

_NO_SYNC = {"synchronize_session": False}


async def history(
    session: AsyncSession, sandbox_id: str, *, order: Literal["asc", "desc"], limit: int, beyond: UUID | None
) -> Sequence[SandboxMessage]:
    """Everything that was said to a sandbox, in the order of being said or from the newest back."""
    query = select(SandboxMessage).where(SandboxMessage.sandbox_id == sandbox_id).limit(limit)
    query = query.order_by(SandboxMessage.id.asc() if order == "asc" else SandboxMessage.id.desc())
    if beyond is not None:
        query = query.where(SandboxMessage.id > beyond if order == "asc" else SandboxMessage.id < beyond)
    return (await session.execute(query)).scalars().all()


async def acknowledge(session: AsyncSession, sandbox_id: str, ids: Collection[UUID], *, now: datetime) -> set[UUID]:
    """Hand these out no more; returns those that are this sandbox's."""
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
    """Set when it was delivered, once; returns that and when it was seen. None when there is nothing to set."""
    statement = (
        update(SandboxMessage)
        .where(
            SandboxMessage.sandbox_id == sandbox_id,
            SandboxMessage.id == message_id,
            SandboxMessage.delivered_at.is_(None),
        )
        .values(
            # The model may be asked before the event arrives that tells of the delivery, never before the delivery.
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
    """Set when these of a sandbox were seen, each once; returns each that was set with its delivery and that."""
    statement = (
        update(SandboxMessage)
        .where(SandboxMessage.sandbox_id == sandbox_id, SandboxMessage.id.in_(ids), SandboxMessage.seen_at.is_(None))
        # Whoever waited for the lock meanwhile has an earlier time than the delivery that was stored before it.
        .values(seen_at=func.greatest(now, SandboxMessage.delivered_at))
        .returning(SandboxMessage.id, SandboxMessage.delivered_at, SandboxMessage.seen_at)
    )
    rows = (await session.execute(statement, execution_options=_NO_SYNC)).all()
    return sorted(((row[0], row[1], row[2] or now) for row in rows), key=lambda row: row[0])


async def move_unseen(session: AsyncSession, sandbox: Sandbox) -> Sequence[UUID]:
    """Give a task's new sandbox what earlier ones, all ended, have not both delivered and seen."""
    earlier = select(Sandbox.id).where(
        Sandbox.task_id == sandbox.task_id,
        Sandbox.purpose == Purpose.WORK,
        Sandbox.status.in_(ENDED),
        Sandbox.id != sandbox.id,
    )
    done = and_(SandboxMessage.delivered_at.is_not(None), SandboxMessage.seen_at.is_not(None))
    statement = (
        update(SandboxMessage)
        .where(SandboxMessage.sandbox_id.in_(earlier), ~done)
        .values(sandbox_id=sandbox.id, acked_at=None, delivered_at=None, seen_at=None)
        .returning(SandboxMessage.id)
    )
    return sorted((await session.execute(statement, execution_options=_NO_SYNC)).scalars())
