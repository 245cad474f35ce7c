"""Queries on the audit trail."""

from collections.abc import Sequence
from datetime import datetime
from uuid import UUID

from sqlalchemy import delete, select
from sqlalchemy.dialects.postgresql import insert
from sqlalchemy.ext.asyncio import AsyncSession

from omoi_os.audit.models import AuditEntry
from omoi_os.ids import uuid7

_KEY = ("actor_kind", "actor_id", "kind", "hour")


async def add(session: AsyncSession, values: dict[str, str], *, times: int, now: datetime, alone: bool = False) -> None:
    """Insert a row for this actor, kind and hour, or raise the existing row's count; with `alone` always insert."""
    hour = now if alone else now.replace(minute=0, second=0, microsecond=0)
    row = {"id": uuid7(), "at": now, "hour": hour, "last_at": now, "count": times} | values
    statement = insert(AuditEntry).values(row)
    more = {"count": AuditEntry.count + statement.excluded["count"], "last_at": statement.excluded.last_at}
    await session.execute(statement.on_conflict_do_update(index_elements=_KEY, set_=more))


async def list_entries(
    session: AsyncSession, *, kind: str | None, actor_id: str | None, limit: int, before: UUID | None
) -> Sequence[AuditEntry]:
    """Return entries, newest first."""
    query = select(AuditEntry).order_by(AuditEntry.id.desc()).limit(limit)
    if kind is not None:
        query = query.where(AuditEntry.kind == kind)
    if actor_id is not None:
        query = query.where(AuditEntry.actor_id == actor_id)
    if before is not None:
        query = query.where(AuditEntry.id < before)
    return (await session.execute(query)).scalars().all()


async def delete_before(session: AsyncSession, moment: datetime) -> None:
    """Delete entries last seen before a moment."""
    await session.execute(delete(AuditEntry).where(AuditEntry.at < moment, AuditEntry.last_at < moment))
