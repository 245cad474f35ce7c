"""Events of a sandbox: stored once, numbered densely at commit, acked only by the transaction that holds them."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from datetime import datetime
from types import MappingProxyType

from sqlalchemy.ext.asyncio import AsyncSession

from omoi_os.bus.base import Bus, Topic
from omoi_os.errors import StaleFence
from omoi_os.masking import Masker
from omoi_os.protocol.events import PLATFORM_PREFIXES, Event, EventSource, EventType
from omoi_os.sandboxes import repository, service
from omoi_os.sandboxes.ingest.log import append
from omoi_os.sandboxes.ingest.quota import used_up
from omoi_os.sandboxes.lifecycle import ENDED, Purpose
from omoi_os.sandboxes.messages import service as messages
from omoi_os.sandboxes.models import Sandbox, SandboxEvent
from omoi_os.stream.outbox import publish_events
from omoi_os.tasks import repository as tasks_repository
from omoi_os.tasks import service as tasks

#: What of a worker's events changes more than the log and the sandbox's own columns.
EFFECTS = frozenset(
    {
        EventType.AGENT_COMPLETED,
        EventType.AGENT_ERROR,
        EventType.AGENT_FAILED,
        EventType.AGENT_MESSAGE_INJECTED,
    }
)
#: How an event that could not be taken is kept: its number is used up, its content is not stored.
REJECTED = "rejected"


@dataclass(frozen=True, slots=True)
class Rejection:
    """An event that was not taken, and why."""

    seq: int | None
    reason: str


@dataclass(slots=True)
class Recorded:
    """The answer to a batch. `last_seq` is what the worker may forget."""

    accepted: int = 0
    duplicates: int = 0
    rejected: list[Rejection] = field(default_factory=list)
    last_seq: int = 0
    stored: list[SandboxEvent] = field(default_factory=list)


async def record_events(
    session: AsyncSession,
    bus: Bus,
    sandbox: Sandbox,
    events: Sequence[Event],
    *,
    now: datetime,
    masker: Masker,
    refused: Mapping[int, str] = MappingProxyType({}),
    masked: bool = False,
    max_bytes: int | None = None,
) -> Recorded:
    """Store what a worker reports, with every change of state that it causes, in this one transaction.

    The worker resends until it hears back, so what is stored already is skipped; beyond a gap nothing is stored.
    `refused` says by their number which events were found bad before, and why. `masked` events hold no secrets any
    more: masking takes time, and this runs in the event loop.
    """
    sandbox = await repository.lock(session, sandbox.id)
    if sandbox.status in ENDED:
        raise ended(sandbox.id, sandbox.end_reason)
    if max_bytes is not None and sandbox.event_bytes >= max_bytes:
        raise used_up(sandbox.id, max_bytes)
    known = await repository.events_with_ids(session, sandbox.id, [e.event_id for e in events if e.event_id])
    recorded = Recorded()
    before = sandbox.last_seq
    reported = False
    for event in events:
        duplicate = event.event_id in known if event.event_id else False
        if event.seq is not None:
            duplicate = duplicate or event.seq <= sandbox.acked_seq
            if not duplicate and event.seq != sandbox.acked_seq + 1:
                continue
        if duplicate:
            recorded.duplicates += 1
            if event.seq == sandbox.acked_seq + 1:
                # The same event under another number: the number is used up all the same.
                sandbox.acked_seq = event.seq
            if event.event_id in known:
                recorded.stored.append(known[event.event_id])
            continue
        reason = refused.get(event.seq or 0) or refusal(event)
        if reason:
            recorded.rejected.append(Rejection(event.seq, reason))
            event = stub(event, reason)
        else:
            recorded.accepted += 1
        if reason or not masked:
            event = replace(event, event_data=masker.mask(event.event_data))
        row = append(session, sandbox, event, now=now)
        recorded.stored.append(row)
        known[row.event_id] = row
        sandbox.acked_seq = event.seq or sandbox.acked_seq
        if row.event_type != REJECTED:
            _note_activity(sandbox, event, now=now)
            # One event says that the worker lives as well as many; asking each time is what a large batch would cost.
            if not reported or event.event_type in EFFECTS:
                await _take_effect(session, bus, sandbox, event, now=now)
                reported = True
    recorded.last_seq = sandbox.acked_seq
    if sandbox.last_seq > before:
        publish_events(
            session,
            project_id=sandbox.project_id,
            sandbox_id=sandbox.id,
            first_seq=before + 1,
            last_seq=sandbox.last_seq,
        )
        await bus.announce(session, Topic.STREAM, "")
    await session.flush()
    return recorded


def ended(sandbox_id: str, reason: str | None) -> StaleFence:
    """What the worker of an ended sandbox is answered."""
    return StaleFence(f"sandbox {sandbox_id} has ended ({reason}); its events are no longer taken")


def stub(event: Event, reason: str) -> Event:
    """What is kept of an event that is not taken: its number, and why."""
    data = {"event_type": event.event_type[:100], "reason": reason} if event.event_type else {"reason": reason}
    return Event(REJECTED, data, EventSource.WORKER, event.event_id, event.seq)


def refusal(event: Event) -> str | None:
    """Why a sandbox may not say this, if so."""
    if event.event_type.startswith(PLATFORM_PREFIXES) or event.event_type == REJECTED:
        return f"{event.event_type[:100]} events come from the platform only"
    if event.source not in (EventSource.AGENT, EventSource.WORKER):
        return f"a sandbox speaks as agent or worker, not as {event.source[:40]}"
    return None


def is_work(event: Event) -> bool:
    """Whether it shows that work goes on. A command that runs for long says nothing, but it is work."""
    return event.event_type != EventType.AGENT_HEARTBEAT or event.event_data.get("busy") is True


def _note_activity(sandbox: Sandbox, event: Event, *, now: datetime) -> None:
    if event.event_type == EventType.AGENT_HEARTBEAT:
        sandbox.last_heartbeat_at = now
    if is_work(event):
        sandbox.last_work_at = now


async def _take_effect(session: AsyncSession, bus: Bus, sandbox: Sandbox, event: Event, *, now: datetime) -> None:
    """What an event changes beside the list of events. An agent's word never completes anything."""
    if sandbox.purpose != Purpose.WORK:
        return
    await service.mark_running(session, bus, sandbox, now=now)
    task = await tasks_repository.lock(session, sandbox.task_id)
    if task.fence != sandbox.fence:
        raise StaleFence(f"sandbox {sandbox.id} was superseded by a newer attempt at its task")
    await tasks.worker_reported(session, bus, task, now=now)
    if event.event_type == EventType.AGENT_MESSAGE_INJECTED:
        await messages.mark_delivered(session, bus, sandbox, event.event_data.get("message_id"), now)
    if event.event_type == EventType.AGENT_ERROR and event.event_data.get("conversation_lost") is True:
        await messages.redeliver(session, bus, sandbox, now=now)
    if event.event_type == EventType.AGENT_COMPLETED and event.event_data.get("success") is True:
        await tasks.agent_says_done(session, bus, task, final_output=_text(event.event_data.get("final_output")))
    if event.event_type == EventType.AGENT_FAILED:
        sandbox.failure = _text(event.event_data.get("error")) or "the worker gave no reason"


def _text(value: object) -> str:
    """Agent-written text that any column takes: no NUL, no lone surrogates, bounded."""
    return str(value or "").replace("\0", "").encode(errors="replace").decode()[:20_000]
