"""The append-only log of a sandbox: gives each event its number. The caller holds the sandbox's row."""

from datetime import UTC, datetime
from typing import Any

from sqlalchemy.ext.asyncio import AsyncSession

from omoi_os.ids import uuid7
from omoi_os.protocol.events import Event, EventSource, EventType
from omoi_os.sandboxes.models import Sandbox, SandboxEvent


def append(session: AsyncSession, sandbox: Sandbox, event: Event, *, now: datetime) -> SandboxEvent:
    """Add one event under the next number."""
    sandbox.last_seq += 1
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
    session: AsyncSession, sandbox: Sandbox, event_type: EventType, event_data: dict[str, Any], *, now: datetime
) -> SandboxEvent:
    """Add what the platform itself has to say."""
    return append(session, sandbox, Event(event_type, event_data, source=EventSource.SYSTEM), now=now)


def _when(text: str | None) -> datetime | None:
    """The worker's own time of an event; what cannot be read as one is ignored, as it orders nothing."""
    if text is None:
        return None
    try:
        moment = datetime.fromisoformat(text)
    except ValueError:
        return None
    return moment if moment.tzinfo else moment.replace(tzinfo=UTC)
