"""The append-only log of a sandbox: gives each event its number. The caller holds the sandbox's row."""

import json
from collections.abc import Mapping
from datetime import UTC, datetime
from typing import Any

from sqlalchemy.ext.asyncio import AsyncSession

from omoi_os.ids import uuid7
from omoi_os.protocol.events import Event, EventSource, EventType
from omoi_os.sandboxes.ingest.quota import ROW_BYTES
from omoi_os.sandboxes.models import Sandbox, SandboxEvent
from omoi_os.stream.outbox import publish_events

#: How many types of events are counted apart; an agent may invent more, which are counted together.
MAX_COUNTED_TYPES = 100
OTHER_TYPES = "other"


def append(session: AsyncSession, sandbox: Sandbox, event: Event, *, now: datetime) -> SandboxEvent:
    """Add one event under the next number. The caller publishes it."""
    sandbox.last_seq += 1
    sandbox.event_counts = counted(sandbox.event_counts, event.event_type)
    sandbox.event_bytes += len(json.dumps(event.event_data)) + ROW_BYTES
    if event.event_type == EventType.AGENT_HEARTBEAT:
        sandbox.first_heartbeat_at = sandbox.first_heartbeat_at or now
    row = SandboxEvent(
        sandbox_id=sandbox.id,
        seq=sandbox.last_seq,
        event_id=event.event_id or str(uuid7()),
        fence=sandbox.fence,
        posted_seq=event.seq,
        event_type=event.event_type,
        event_data=event.event_data,
        source=event.source,
        occurred_at=_when(event.occurred_at) or now,
        created_at=now,
    )
    session.add(row)
    return row


def append_platform_event(
    session: AsyncSession, sandbox: Sandbox, event_type: str, event_data: dict[str, Any], *, now: datetime
) -> SandboxEvent:
    """Add what the platform itself has to say."""
    row = append(session, sandbox, Event(event_type, event_data, source=EventSource.SYSTEM), now=now)
    publish_events(session, project_id=sandbox.project_id, sandbox_id=sandbox.id, first_seq=row.seq, last_seq=row.seq)
    return row


def counted(counts: Mapping[str, int], event_type: str) -> dict[str, int]:
    """The counts with one more of this type."""
    more = dict(counts)
    count(more, event_type)
    return more


def count(counts: dict[str, int], event_type: str) -> None:
    """Add one of this type to the counts."""
    name = event_type if event_type in counts or len(counts) < MAX_COUNTED_TYPES else OTHER_TYPES
    counts[name] = counts.get(name, 0) + 1


def _when(text: str | None) -> datetime | None:
    """The worker's own time of an event; what cannot be read as one is ignored, as it orders nothing."""
    if text is None:
        return None
    try:
        moment = datetime.fromisoformat(text)
    except ValueError:
        return None
    return moment if moment.tzinfo else moment.replace(tzinfo=UTC)
