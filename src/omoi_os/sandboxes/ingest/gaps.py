"""Gaps in the events that a sandbox posts: recorded when an event beyond one arrives, audited when one stays open."""

from collections import OrderedDict
from datetime import datetime, timedelta

from sqlalchemy import func, select, update
from sqlalchemy.ext.asyncio import AsyncSession

from omoi_os.audit.models import AuditKind
from omoi_os.audit.trail import Entry, write
from omoi_os.db.base import Sessions
from omoi_os.masking import Masker
from omoi_os.sandboxes.lifecycle import ALIVE
from omoi_os.sandboxes.models import Sandbox

#: A worker resends missing events within seconds; after this time it will not.
PATIENCE = timedelta(seconds=60)
_MAX_REMEMBERED = 10_000


class Gaps:
    """Records each gap once in this process. A closed gap needs no record: the acknowledged number has moved on."""

    def __init__(self, sessions: Sessions) -> None:
        self._sessions = sessions
        self._recorded: OrderedDict[str, int] = OrderedDict()

    async def record(self, sandbox_id: str, acked_seq: int) -> None:
        """Record that the event behind `acked_seq` is missing, while a later one has arrived."""
        if self._recorded.get(sandbox_id) == acked_seq:
            return
        query = (
            update(Sandbox)
            .where(Sandbox.id == sandbox_id, Sandbox.acked_seq == acked_seq)
            .where(Sandbox.gap_after.is_distinct_from(acked_seq))
            .values(gap_after=acked_seq, gap_seen_at=func.now(), gap_flagged_at=None)
        )
        async with self._sessions.begin() as session:
            await session.execute(query)
        self._recorded[sandbox_id] = acked_seq
        if len(self._recorded) > _MAX_REMEMBERED:
            self._recorded.popitem(last=False)


async def flag(session: AsyncSession, *, now: datetime, masker: Masker) -> list[str]:
    """Add the gaps that have been open for too long to the audit trail, each once, and return their sandboxes.

    Reads the rows of living sandboxes only.
    """
    open_too_long = (
        select(Sandbox.id)
        .where(Sandbox.status.in_(ALIVE), Sandbox.gap_seen_at <= now - PATIENCE, Sandbox.gap_flagged_at.is_(None))
        .where(Sandbox.gap_after == Sandbox.acked_seq)
        .with_for_update(skip_locked=True)
    )
    query = update(Sandbox).where(Sandbox.id.in_(open_too_long.scalar_subquery())).values(gap_flagged_at=now)
    found = (await session.execute(query.returning(Sandbox.id, Sandbox.acked_seq))).all()
    for sandbox_id, acked_seq in found:
        patience = f"{PATIENCE.total_seconds():.0f} s"
        detail = f"seq {acked_seq + 1} has been missing for more than {patience}; nothing beyond it is stored"
        entry = Entry(AuditKind.EVENT_GAP, sandbox_id, sandbox_id, detail)
        await write(session, entry, masker=masker, now=now)
    return [sandbox_id for sandbox_id, _ in found]
