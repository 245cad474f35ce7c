"""Enqueues messages and reads queued ones in as few statements and round trips as possible."""

import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import Any
from uuid import UUID

from sqlalchemy.ext.asyncio import AsyncSession

from omoi_os.bus.base import Bus, Topic
from omoi_os.db.pipeline import Row, Statement, in_session
from omoi_os.projects.permissions import role_sql
from omoi_os.sandboxes.repository import ID
from omoi_os.stream.models import ORDER, Change
from omoi_os.visibility import visible_sql

_VISIBLE = f"SELECT s.id FROM sandboxes s WHERE s.id = $1 AND {visible_sql('s.project_id', '$2')}"  # noqa: S608
#: Takes the locks of `repository.lock` in the same order, but only if the sender may see the sandbox.
_LOCK = Statement(
    "omoi_lock_for_message",
    f"""
    WITH seen AS MATERIALIZED ({_VISIBLE}), held AS MATERIALIZED (
        SELECT id, pg_advisory_xact_lock(hashtextextended(id, 0)) FROM seen
    )
    SELECT s.project_id, s.task_id, s.spec_id, s.purpose, s.status, s.end_reason, {role_sql("s.project_id", "$2")}
    FROM sandboxes s
    WHERE s.id = (SELECT id FROM held) FOR NO KEY UPDATE
    """,  # noqa: S608  a constant
)
#: A separate statement, because it must see what was committed before the lock was acquired.
_QUEUE_STATE = Statement(
    "omoi_queue_state",
    f"""
    SELECT (SELECT count(*) FROM sandbox_messages WHERE sandbox_id = ({_VISIBLE}) AND acked_at IS NULL),
           (SELECT id FROM sandbox_messages WHERE sandbox_id = ({_VISIBLE}) ORDER BY id DESC LIMIT 1)
    """,  # noqa: S608  a constant
)
_ENQUEUE = Statement(
    "omoi_enqueue_message",
    f"""
    WITH stored AS (
        INSERT INTO sandbox_messages (id, sandbox_id, message_type, content, deliver, sender, queued_at)
        VALUES ($1::uuid, $2, $3, $4, $5, $6, $7::timestamptz)
    ), published AS (
        INSERT INTO outbox (xid, change, project_id, sandbox_id, data)
        VALUES ({ORDER}, $8, $9::uuid, $2, $10::json)
    )
    SELECT pg_notify($11, payload) FROM unnest(ARRAY[$12]::text[]) AS payload WHERE payload IS NOT NULL
    """,  # noqa: S608  a constant
)
_QUEUED = Statement(
    "omoi_queued_messages",
    """
    SELECT m.id, m.message_type, m.content, m.deliver, m.sender, to_char(m.queued_at, 'YYYY-MM-DD"T"HH24:MI:SS.USZ')
    FROM sandbox_messages m JOIN sandboxes s ON s.id = m.sandbox_id
    WHERE s.id = $1 AND s.token_hash = $2 AND s.status IN ('creating', 'running', 'stopping')
      AND m.acked_at IS NULL AND ($3::uuid IS NULL OR m.id > $3::uuid)
    ORDER BY m.id LIMIT $4::int8
    """,
)
_FIELDS = ("message_id", "message_type", "content", "deliver", "sender", "queued_at")


@dataclass(frozen=True, slots=True)
class Recipient:
    """A sandbox that is locked until the transaction ends, and the state of its queue."""

    id: str
    project_id: UUID
    task_id: UUID | None
    spec_id: UUID | None
    purpose: str
    status: str
    end_reason: str | None
    #: Role of the sender in the sandbox's project; None for an administrator or a part of the platform.
    role: str | None
    #: Number of messages that are not acknowledged.
    queued: int
    #: Id of its newest message.
    newest: UUID | None


@dataclass(frozen=True, slots=True)
class StoredMessage:
    """A message to store, and the data of the change that the stream publishes."""

    id: UUID
    message_type: str
    content: str
    deliver: str
    sender: str
    at: datetime
    published: Mapping[str, Any]


async def lock(session: AsyncSession, sandbox_id: str, *, viewer: UUID | None) -> Recipient | None:
    """Lock a sandbox and return the state of its queue.

    Return None if it does not exist or is not visible; `viewer` comes from `visibility.restricted_to`.
    """
    if not ID.fullmatch(sandbox_id):
        return None
    async with in_session(session) as pipeline:
        for statement in (_LOCK, _QUEUE_STATE):
            pipeline.send(statement, sandbox_id, str(viewer) if viewer else None)
        rows, ((queued, newest),) = (await pipeline.results(last=True))[-2:]
    if not rows:
        return None
    project_id, task_id, spec_id, purpose, status, end_reason, role = rows[0]
    return Recipient(
        id=sandbox_id,
        project_id=UUID(project_id),
        task_id=UUID(task_id) if task_id else None,
        spec_id=UUID(spec_id) if spec_id else None,
        purpose=str(purpose),
        status=str(status),
        end_reason=end_reason,
        role=role,
        queued=int(queued or 0),
        newest=UUID(newest) if newest else None,
    )


async def enqueue(session: AsyncSession, bus: Bus, recipient: Recipient, message: StoredMessage) -> None:
    """Store a message for a locked sandbox, publish the change, and wake long polls once the session commits."""
    notice = bus.notice(Topic.MESSAGES, recipient.id)
    if notice.payload is None:
        await bus.announce(session, Topic.MESSAGES, recipient.id)
    async with in_session(session) as pipeline:
        pipeline.send(
            _ENQUEUE,
            *(str(message.id), recipient.id, message.message_type, message.content, message.deliver, message.sender),
            *(message.at.isoformat(), Change.MESSAGE_STATUS.value, str(recipient.project_id)),
            json.dumps(message.published),
            *(notice.channel, notice.payload),
        )
        await pipeline.results(last=True)


async def queued(
    session: AsyncSession, sandbox_id: str, token_hash: str, *, after: UUID | None, limit: int
) -> Sequence[dict[str, str]]:
    """Return the messages that are not acknowledged, oldest first, as the worker receives them.

    With `after`, only those behind that message. The same statement checks the token: the result is empty for a token
    that is stale or belongs to another sandbox.
    """
    if not ID.fullmatch(sandbox_id):
        return []
    async with in_session(session, reading=True) as pipeline:
        pipeline.send(_QUEUED, sandbox_id, token_hash, str(after) if after else None, str(limit))
        (rows,) = await pipeline.results(last=True)
    return [_shown(row) for row in rows]


def _shown(row: Row) -> dict[str, str]:
    return {name: str(value) for name, value in zip(_FIELDS, row, strict=True)}
