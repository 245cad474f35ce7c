"""Adds changes to the outbox, in the transaction that makes them."""

from collections.abc import Mapping
from typing import Any
from uuid import UUID

from sqlalchemy.ext.asyncio import AsyncSession

from omoi_os.stream.models import Change, Outbox


def publish(
    session: AsyncSession, change: Change, data: Mapping[str, Any], *, project_id: UUID, sandbox_id: str | None = None
) -> None:
    """Publish a change to everybody who may see the project, once the session commits. The caller wakes the readers."""
    session.add(Outbox(change=change, project_id=project_id, sandbox_id=sandbox_id, data=dict(data)))


def publish_events(session: AsyncSession, *, project_id: UUID, sandbox_id: str, first_seq: int, last_seq: int) -> None:
    """Publish a run of a sandbox's events that this transaction adds."""
    session.add(
        Outbox(
            change=Change.SANDBOX_EVENT,
            project_id=project_id,
            sandbox_id=sandbox_id,
            first_seq=first_seq,
            last_seq=last_seq,
        )
    )
