"""The door for events: one event or many, judged, recorded, answered."""

import json
from collections.abc import Sequence
from datetime import datetime

from pydantic import ValidationError
from sqlalchemy import select
from sqlalchemy.ext.asyncio import AsyncSession

from omoi_os.bus.base import Bus
from omoi_os.errors import Conflict, Forbidden
from omoi_os.protocol.events import PLATFORM_PREFIXES, Event, EventSource
from omoi_os.sandboxes import events
from omoi_os.sandboxes.masking import Masker
from omoi_os.sandboxes.models import Sandbox, SandboxEvent
from omoi_os.sandboxes.schemas import EventIn
from omoi_os.strict_json import parse

#: The most that one event of a batch may be, as for an event that comes alone.
MAX_EVENT_BYTES = 1024 * 1024


async def take_one(
    session: AsyncSession, bus: Bus, sandbox: Sandbox, posted: EventIn, *, now: datetime, masker: Masker
) -> SandboxEvent:
    """Store one event and return it as stored; a second time, return the first one's row.

    `Forbidden` for what only the platform says; `Conflict` beyond a gap, or for a number used for another event.
    """
    if posted.event_type.startswith(PLATFORM_PREFIXES) or posted.event_type == events.REJECTED:
        raise Forbidden(f"{posted.event_type} events come from the platform only")
    if posted.source not in (EventSource.AGENT, EventSource.WORKER):
        raise Forbidden(f"a sandbox speaks as agent or worker, not as {posted.source}")
    recorded = await events.record_events(session, bus, sandbox, [posted.event()], now=now, masker=masker)
    if recorded.stored:
        return recorded.stored[0]
    earlier = await _by_posted_seq(session, sandbox, posted.seq) if recorded.duplicates else None
    if earlier is None:
        raise Conflict(f"seq {posted.seq} is beyond a gap; send seq {recorded.last_seq + 1} first")
    if posted.event_id is not None and posted.event_id != earlier.event_id:
        raise Conflict(f"seq {posted.seq} is event {earlier.event_id} already; the first one stays")
    return earlier


async def take_batch(
    session: AsyncSession, bus: Bus, sandbox: Sandbox, posted: Sequence[object], *, now: datetime, masker: Masker
) -> events.Recorded:
    """Store what can be taken of a batch. What cannot leaves a stub with the reason, and the others go on."""
    taken: list[Event] = []
    refused: dict[int, str] = {}
    unnumbered: list[events.Rejection] = []
    for item in posted:
        judged = _judge(item)
        seq = _seq(item)
        if isinstance(judged, Event):
            taken.append(judged)
        elif seq is None:
            unnumbered.append(events.Rejection(None, judged))
        else:
            refused[seq] = judged
            taken.append(Event("", {}, EventSource.WORKER, seq=seq))
    recorded = await events.record_events(session, bus, sandbox, taken, now=now, masker=masker, refused=refused)
    recorded.rejected += unnumbered
    return recorded


async def take_spool(
    session: AsyncSession, bus: Bus, sandbox: Sandbox, frames: Sequence[Event], *, now: datetime, masker: Masker
) -> events.Recorded:
    """Store what a dead worker left in its spool: as little trusted as if it had been posted."""
    return await take_batch(session, bus, sandbox, [_as_posted(frame) for frame in frames], now=now, masker=masker)


def _as_posted(frame: Event) -> object:
    """The event as a body would have carried it; of one that no body can carry only the number is left."""
    try:
        return parse(json.dumps(frame.to_json(), allow_nan=False).encode())
    except (ValueError, RecursionError):
        return {"seq": frame.seq}


def _judge(item: object) -> Event | str:
    """The event, or what is wrong with it."""
    try:
        posted = EventIn.model_validate(item)
    except ValidationError as error:
        first = error.errors(include_url=False, include_input=False, include_context=False)[0]
        return f"{'.'.join(str(part) for part in first['loc']) or 'event'}: {first['msg']}"
    if len(json.dumps(posted.event_data)) > MAX_EVENT_BYTES:
        return f"event_data is larger than {MAX_EVENT_BYTES} bytes; put large values as blobs"
    return posted.event()


def _seq(item: object) -> int | None:
    seq = item.get("seq") if isinstance(item, dict) else None
    return seq if isinstance(seq, int) and not isinstance(seq, bool) and 1 <= seq < 2**63 else None


async def _by_posted_seq(session: AsyncSession, sandbox: Sandbox, seq: int | None) -> SandboxEvent | None:
    query = select(SandboxEvent).where(
        SandboxEvent.sandbox_id == sandbox.id, SandboxEvent.fence == sandbox.fence, SandboxEvent.posted_seq == seq
    )
    return (await session.execute(query)).scalar_one_or_none()
