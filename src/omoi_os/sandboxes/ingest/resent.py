"""What comes again under a number that is taken: the same is a duplicate, all else is for the audit trail."""

from sqlalchemy import select
from sqlalchemy.ext.asyncio import AsyncSession

from omoi_os.audit.models import AuditKind
from omoi_os.audit.trail import Entry
from omoi_os.sandboxes.ingest.drafts import Batch
from omoi_os.sandboxes.ingest.events import Rejection
from omoi_os.sandboxes.ingest.intake import same, taken
from omoi_os.sandboxes.models import Sandbox, SandboxEvent


async def changed(session: AsyncSession, sandbox_id: str, batch: Batch) -> list[Rejection]:
    """The events of an answered batch whose numbers hold other events; those stay."""
    numbers = [draft.event.seq for draft in batch.drafts if draft.event.seq is not None]
    query = (
        select(SandboxEvent)
        .join(Sandbox, Sandbox.id == SandboxEvent.sandbox_id)
        .where(
            SandboxEvent.sandbox_id == sandbox_id,
            SandboxEvent.fence == Sandbox.fence,
            SandboxEvent.posted_seq.in_(numbers),
        )
    )
    stored = {row.posted_seq: row for row in (await session.execute(query)).scalars()}
    found = [(stored.get(draft.event.seq), draft) for draft in batch.drafts]
    return [
        Rejection(row.posted_seq, str(taken(row))) for row, draft in found if row is not None and not same(row, draft)
    ]


def changed_event(sandbox_id: str, reason: str) -> Entry:
    """The entry of the audit trail."""
    return Entry(AuditKind.CHANGED_EVENT, sandbox_id, sandbox_id, reason)
