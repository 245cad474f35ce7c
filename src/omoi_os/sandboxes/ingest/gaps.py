"""Gaps in what a sandbox posts: noted when something beyond one comes, told when it stays open."""

from collections import OrderedDict
from datetime import datetime, timedelta

from sqlalchemy import func, select, update
from sqlalchemy.ext.asyncio import AsyncSession

from omoi_os.audit.models import AuditKind
from omoi_os.audit.trail import Entry, write
from omoi_os.db.base import Sessions
from omoi_os.masking import Masker
from omoi_os.sandboxes.ingest.events import Recorded
from omoi_os.sandboxes.lifecycle import ALIVE
from omoi_os.sandboxes.models import Sandbox

#: A worker resends what is missing within seconds; after this it is not going to.
PATIENCE = timedelta(seconds=60)
_MAX_REMEMBERED = 10_000


class Gaps:
    """Notes each gap once in this process. That it is closed needs no note: the acknowledged number has moved on."""

    def __init__(self, sessions: Sessions) -> None:
        self._sessions = sessions
        self._noted: OrderedDict[str, int] = OrderedDict()

    async def note(self, sandbox_id: str, acked_seq: int) -> None:
        """Something beyond the event behind this number came, and that one did not."""
        if self._noted.get(sandbox_id) == acked_seq:
            return
        query = (
            update(Sandbox)
            .where(Sandbox.id == sandbox_id, Sandbox.acked_seq == acked_seq)
            .where(Sandbox.gap_after.is_distinct_from(acked_seq))
            .values(gap_after=acked_seq, gap_seen_at=func.now(), gap_flagged_at=None)
        )
        async with self._sessions.begin() as session:
            await session.execute(query)
        self._noted[sandbox_id] = acked_seq
        if len(self._noted) > _MAX_REMEMBERED:
            self._noted.popitem(last=False)


def leaves_one(sent: int, answer: Recorded) -> bool:
    """Whether an answered batch of so many holds events beyond a gap: those alone are counted nowhere."""
    return answer.accepted + answer.duplicates + len(answer.rejected) < sent


async def flag(session: AsyncSession, *, now: datetime, masker: Masker) -> list[str]:
    """Put the gaps that have been open for too long into the audit trail, each once; returns whose they are.

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
        detail = f"seq {acked_seq + 1} is missing for more than {patience}; nothing beyond it is stored"
        entry = Entry(AuditKind.EVENT_GAP, sandbox_id, sandbox_id, detail)
        await write(session, entry, masker=masker, now=now)
    return [sandbox_id for sandbox_id, _ in found]
