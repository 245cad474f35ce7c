"""One post at a time: judged, recorded and answered with every change of state that it causes."""

import json
from collections.abc import Sequence
from datetime import datetime

from sqlalchemy import select
from sqlalchemy.ext.asyncio import AsyncSession

from omoi_os.bus.base import Bus
from omoi_os.errors import BeyondGap, SeqTaken
from omoi_os.masking import Masker
from omoi_os.protocol.events import Event
from omoi_os.sandboxes.ingest import drafts, events
from omoi_os.sandboxes.ingest.drafts import Batch, Draft
from omoi_os.sandboxes.ingest.quota import MAX_EVENT_BYTES
from omoi_os.sandboxes.models import Sandbox, SandboxEvent
from omoi_os.strict_json import parse


async def take_one(
    session: AsyncSession,
    bus: Bus,
    sandbox: Sandbox,
    draft: Draft,
    *,
    now: datetime,
    masker: Masker,
    max_bytes: int = MAX_EVENT_BYTES,
) -> SandboxEvent:
    """Store one event and return it as stored; a second time, return the first one's row.

    `BeyondGap` when a number before it is missing, `SeqTaken` for a number that was used for another event.
    """
    recorded = await events.record_events(
        session, bus, sandbox, [draft.event], now=now, masker=masker, masked=True, max_bytes=max_bytes
    )
    if recorded.stored:
        return recorded.stored[0]
    seq = draft.event.seq
    earlier = await _by_posted_seq(session, sandbox, seq) if recorded.duplicates else None
    if earlier is None:
        raise BeyondGap(seq, recorded.last_seq)
    if not same(earlier, draft):
        raise taken(earlier)
    return earlier


async def take_batch(
    session: AsyncSession,
    bus: Bus,
    sandbox: Sandbox,
    batch: Batch,
    *,
    now: datetime,
    masker: Masker,
    max_bytes: int = MAX_EVENT_BYTES,
) -> events.Recorded:
    """Store what can be taken of a batch. What cannot leaves a stub with the reason, and the others go on."""
    refused = {draft.event.seq or 0: draft.reason for draft in batch.drafts if draft.reason is not None}
    taken = [draft.event for draft in batch.drafts]
    recorded = await events.record_events(
        session, bus, sandbox, taken, now=now, masker=masker, refused=refused, masked=True, max_bytes=max_bytes
    )
    recorded.rejected += batch.unnumbered
    return recorded


async def take_spool(
    session: AsyncSession,
    bus: Bus,
    sandbox: Sandbox,
    frames: Sequence[Event],
    *,
    now: datetime,
    masker: Masker,
    max_bytes: int = MAX_EVENT_BYTES,
) -> events.Recorded:
    """Store what a dead worker left in its spool: as little trusted as if it had been posted."""
    batch = drafts.judge([_as_posted(frame) for frame in frames], masker)
    return await take_batch(session, bus, sandbox, batch, now=now, masker=masker, max_bytes=max_bytes)


def taken(row: SandboxEvent) -> SeqTaken:
    """What an event under a number that another one has is answered."""
    return SeqTaken(f"seq {row.posted_seq} is event {row.event_id} already; the first one stays")


def same(row: SandboxEvent, draft: Draft) -> bool:
    """Whether a stored event is what this draft says. Of one that was not taken nothing is left to compare."""
    event = draft.event
    if draft.reason is not None or row.event_type == events.REJECTED:
        return draft.reason is not None and row.event_type == events.REJECTED
    return (
        event.event_id in (None, row.event_id)
        and event.event_type == row.event_type
        and json.loads(draft.text) == row.event_data
    )


def _as_posted(frame: Event) -> object:
    """The event as a body would have carried it; of one that no body can carry only the number is left."""
    try:
        return parse(json.dumps(frame.to_json(), allow_nan=False).encode())
    except (ValueError, RecursionError):
        return {"seq": frame.seq}


async def _by_posted_seq(session: AsyncSession, sandbox: Sandbox, seq: int | None) -> SandboxEvent | None:
    query = select(SandboxEvent).where(
        SandboxEvent.sandbox_id == sandbox.id, SandboxEvent.fence == sandbox.fence, SandboxEvent.posted_seq == seq
    )
    return (await session.execute(query)).scalar_one_or_none()
