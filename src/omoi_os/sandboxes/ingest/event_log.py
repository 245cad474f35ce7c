"""A sandbox's event log: the columns of its row that events change, and the events to add."""

import json
from collections.abc import Iterable
from dataclasses import dataclass, field
from datetime import datetime
from typing import Any

from sqlalchemy.ext.asyncio import AsyncSession

from omoi_os.errors import BeyondGap, SeqTaken
from omoi_os.ids import uuid7_text
from omoi_os.protocol.events import Event, EventSource, EventType
from omoi_os.sandboxes.ingest.numbering import Action, Batch, Decision, JudgedEvent, Numbering, Rejection, StoredEvent
from omoi_os.sandboxes.ingest.quota import MAX_EVENT_BYTES, ROW_BYTES, used_up
from omoi_os.sandboxes.models import Sandbox, SandboxEvent
from omoi_os.stream.outbox import publish_events

#: How many types of events are counted separately; an agent may invent more, which are counted together.
MAX_COUNTED_TYPES = 100
OTHER_TYPES = "other"


@dataclass(slots=True)
class BatchResult:
    """The answer to a batch. The worker may forget its events up to `last_seq`."""

    accepted: int = 0
    duplicates: int = 0
    rejected: list[Rejection] = field(default_factory=list)
    last_seq: int = 0
    #: How many events were not stored because an earlier one is missing.
    beyond_gap: int = 0
    #: The first event whose number belongs to another event; it is among the rejected ones as well.
    conflict: str | None = None

    def add(self, following: "BatchResult") -> None:
        """Add the result of the events that followed."""
        self.accepted += following.accepted
        self.duplicates += following.duplicates
        self.rejected += following.rejected
        self.last_seq = following.last_seq
        self.beyond_gap += following.beyond_gap
        self.conflict = self.conflict or following.conflict


#: The answer to one event that was sent alone, or to a batch.
Answer = StoredEvent | BatchResult


class LookupNeeded(Exception):
    """An event cannot be numbered without the stored events; the log must be thrown away."""


@dataclass(frozen=True, slots=True)
class Position:
    """The columns of a sandbox's row that decide whether and where its next events are stored."""

    token_hash: str
    fence: int
    last_seq: int
    acked_seq: int
    event_counts: dict[str, int]
    event_bytes: int = 0


class EventLog:
    """Adds events to a sandbox's log in memory; the caller writes them.

    `stored` and `complete` are those of `Numbering`. The answers are true once the added events are committed.
    """

    def __init__(
        self,
        sandbox_id: str,
        before: Position,
        *,
        now: datetime,
        max_bytes: int = MAX_EVENT_BYTES,
        stored: Iterable[StoredEvent] = (),
        complete: bool = False,
    ) -> None:
        self.sandbox_id, self.before, self.now = sandbox_id, before, now
        self._numbering = Numbering(
            before.last_seq, before.acked_seq, now=now, new_id=uuid7_text, stored=stored, complete=complete
        )
        self._counts = dict(before.event_counts)
        self._max_bytes = max_bytes
        self.added: list[tuple[StoredEvent, JudgedEvent]] = []
        self.added_bytes = 0
        #: `now` if a heartbeat, or an event that shows work, is among the added events.
        self.heartbeat_at: datetime | None = None
        self.work_at: datetime | None = None

    @property
    def position(self) -> Position:
        """Return the position after the added events."""
        before, numbering = self.before, self._numbering
        size = before.event_bytes + self.added_bytes
        return Position(before.token_hash, before.fence, numbering.last_seq, numbering.acked_seq, self._counts, size)

    def answer(self, batch: Batch, *, alone: bool) -> Answer:
        """Add the events of a request and return its answer. Raises what `add_event` and `add_batch` raise."""
        return self.add_event(batch.events[0]) if alone else self.add_batch(batch)

    def add_event(self, judged: JudgedEvent) -> StoredEvent:
        """Add an event that was sent alone and return it as stored, also if it was stored before.

        Raises `TooMany` if the sandbox's quota is used up, `BeyondGap` if an earlier event is missing, `SeqTaken` if
        its number belongs to another event, and `LookupNeeded`.
        """
        self._check_quota()
        decision = self._decide(judged)
        if decision.action is Action.BEYOND_GAP:
            raise BeyondGap(judged.event.seq, self._numbering.acked_seq)
        if decision.action is Action.CONFLICT or decision.stored is None:
            raise SeqTaken(_conflict(judged, decision))
        return decision.stored

    def add_batch(self, batch: Batch) -> BatchResult:
        """Add the events of a batch. Raises `TooMany` if the sandbox's quota is used up, and `LookupNeeded`."""
        self._check_quota()
        result = BatchResult()
        for judged in batch.events:
            decision = self._decide(judged)
            action = decision.action
            if action is Action.STORE:
                result.accepted += 1
            elif action is Action.REJECT:
                result.rejected.append(Rejection(judged.event.seq, judged.reason or ""))
            elif action is Action.DUPLICATE:
                result.duplicates += 1
            elif action is Action.CONFLICT:
                reason = _conflict(judged, decision)
                result.rejected.append(Rejection(judged.event.seq, reason))
                result.conflict = result.conflict or reason
            else:
                result.beyond_gap += 1
        result.rejected += batch.unnumbered
        result.last_seq = self._numbering.acked_seq
        return result

    def append(self, judged: JudgedEvent) -> StoredEvent:
        """Add an event that was not posted."""
        stored = self._numbering.append(judged.event)
        self._append(stored, judged)
        return stored

    def _check_quota(self) -> None:
        if self.before.event_bytes + self.added_bytes >= self._max_bytes:
            raise used_up(self.sandbox_id, self._max_bytes)

    def _decide(self, judged: JudgedEvent) -> Decision:
        decision = self._numbering.decide(judged)
        action = decision.action
        if action is Action.LOOK_UP:
            raise LookupNeeded
        if (action is Action.STORE or action is Action.REJECT) and decision.stored is not None:
            self._append(decision.stored, judged)
            if action is Action.STORE:
                self._note_activity(judged.event)
        return decision

    def _note_activity(self, event: Event) -> None:
        if event.event_type == EventType.AGENT_HEARTBEAT:
            self.heartbeat_at = self.now
        if is_work(event):
            self.work_at = self.now

    def _append(self, stored: StoredEvent, judged: JudgedEvent) -> None:
        self.added.append((stored, judged))
        self.added_bytes += len(judged.text) + ROW_BYTES
        event_type = stored.event_type
        counts = self._counts
        name = event_type if event_type in counts or len(counts) < MAX_COUNTED_TYPES else OTHER_TYPES
        counts[name] = counts.get(name, 0) + 1


def is_work(event: Event) -> bool:
    """Tell whether an event shows that the agent is working. A heartbeat does while a command is running."""
    return event.event_type != EventType.AGENT_HEARTBEAT or event.event_data.get("busy") is True


def position_of(sandbox: Sandbox) -> Position:
    """Return the position of a row that the caller has locked."""
    return Position(
        sandbox.token_hash,
        sandbox.fence,
        sandbox.last_seq,
        sandbox.acked_seq,
        sandbox.event_counts,
        sandbox.event_bytes,
    )


def write(session: AsyncSession, sandbox: Sandbox, log: EventLog) -> None:
    """Write what was added to a log, in the session that has locked the sandbox's row. The caller publishes it."""
    after = log.position
    sandbox.last_seq, sandbox.acked_seq = after.last_seq, after.acked_seq
    sandbox.event_counts, sandbox.event_bytes = after.event_counts, after.event_bytes
    if log.heartbeat_at is not None:
        sandbox.last_heartbeat_at = log.heartbeat_at
        sandbox.first_heartbeat_at = sandbox.first_heartbeat_at or log.heartbeat_at
    if log.work_at is not None:
        sandbox.last_work_at = log.work_at
    for stored, judged in log.added:
        session.add(
            SandboxEvent(
                sandbox_id=sandbox.id,
                seq=stored.seq,
                event_id=stored.event_id,
                fence=sandbox.fence,
                posted_seq=stored.posted_seq,
                event_type=stored.event_type,
                event_data=judged.event.event_data,
                source=judged.event.source,
                occurred_at=judged.occurred_at or stored.created_at,
                created_at=stored.created_at,
            )
        )


def append_platform_event(
    session: AsyncSession, sandbox: Sandbox, event_type: str, event_data: dict[str, Any], *, now: datetime
) -> StoredEvent:
    """Add, publish and return an event of the platform. The caller holds the sandbox's row."""
    log = EventLog(sandbox.id, position_of(sandbox), now=now)
    event = Event(event_type, event_data, source=EventSource.SYSTEM)
    stored = log.append(JudgedEvent(event, json.dumps(event_data)))
    write(session, sandbox, log)
    seq = stored.seq
    publish_events(session, project_id=sandbox.project_id, sandbox_id=sandbox.id, first_seq=seq, last_seq=seq)
    return stored


def _conflict(judged: JudgedEvent, decision: Decision) -> str:
    stored = decision.stored
    owner = f" for event {stored.event_id}" if stored is not None else ""
    return f"seq {judged.event.seq} was already used{owner}; the first event is kept"
