"""The quick ways of a message: saying one and finding it, each in as few statements and round trips as it takes."""

import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import Any
from uuid import UUID

from sqlalchemy.ext.asyncio import AsyncSession

from omoi_os.bus.base import Bus, Topic
from omoi_os.db.pipeline import Found, Statement, in_session
from omoi_os.sandboxes.repository import ID
from omoi_os.stream.models import ORDER, Change

_VISIBLE = """
    SELECT s.id FROM sandboxes s JOIN projects p ON p.id = s.project_id
    WHERE s.id = $1 AND ($2::uuid IS NULL OR p.created_by = $2::uuid)
"""
#: Who may not see the sandbox does not get as far as its lock. That is `repository.lock`'s, taken in the same order.
_HOLD = Statement(
    "omoi_hold",
    f"""
    WITH seen AS MATERIALIZED ({_VISIBLE}), held AS MATERIALIZED (
        SELECT id, pg_advisory_xact_lock(hashtextextended(id, 0)) FROM seen
    )
    SELECT s.project_id, s.task_id, s.purpose, s.status, s.end_reason FROM sandboxes s
    WHERE s.id = (SELECT id FROM held) FOR NO KEY UPDATE
    """,  # noqa: S608  a constant
)
#: A statement of its own: it has to see what was committed before the lock was there.
_STANDING = Statement(
    "omoi_standing",
    f"""
    SELECT (SELECT count(*) FROM sandbox_messages WHERE sandbox_id = ({_VISIBLE}) AND acked_at IS NULL),
           (SELECT id FROM sandbox_messages WHERE sandbox_id = ({_VISIBLE}) ORDER BY id DESC LIMIT 1)
    """,  # noqa: S608  a constant
)
_SAY = Statement(
    "omoi_say",
    f"""
    WITH said AS (
        INSERT INTO sandbox_messages (id, sandbox_id, message_type, content, deliver, sender, queued_at)
        VALUES ($1::uuid, $2, $3, $4, $5, $6, $7::timestamptz)
    ), told AS (
        INSERT INTO outbox (xid, change, project_id, sandbox_id, data)
        VALUES ({ORDER}, $8, $9::uuid, $2, $10::json)
    )
    SELECT pg_notify($11, payload) FROM unnest(ARRAY[$12]::text[]) AS payload WHERE payload IS NOT NULL
    """,  # noqa: S608  a constant
)
_WAITING = Statement(
    "omoi_waiting",
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
class Standing:
    """A sandbox that is locked until the transaction ends, as far as messages go."""

    id: str
    project_id: UUID
    task_id: UUID
    purpose: str
    status: str
    end_reason: str | None
    #: How many of its messages are not acknowledged.
    waiting: int
    newest: UUID | None


@dataclass(frozen=True, slots=True)
class Saying:
    """A message that is to be stored, and what the stream tells of it."""

    id: UUID
    message_type: str
    content: str
    deliver: str
    sender: str
    at: datetime
    told: Mapping[str, Any]


async def hold(session: AsyncSession, sandbox_id: str, *, owner: UUID | None) -> Standing | None:
    """Lock a sandbox and tell how it stands; None when there is none, or none in this owner's projects."""
    if not ID.fullmatch(sandbox_id):
        return None
    async with in_session(session) as pipeline:
        for statement in (_HOLD, _STANDING):
            pipeline.send(statement, sandbox_id, str(owner) if owner else None)
        rows, ((waiting, newest),) = (await pipeline.answers(last=True))[-2:]
    if not rows:
        return None
    project_id, task_id, purpose, status, end_reason = rows[0]
    return Standing(
        id=sandbox_id,
        project_id=UUID(project_id),
        task_id=UUID(task_id),
        purpose=str(purpose),
        status=str(status),
        end_reason=end_reason,
        waiting=int(waiting or 0),
        newest=UUID(newest) if newest else None,
    )


async def say(session: AsyncSession, bus: Bus, standing: Standing, saying: Saying) -> None:
    """Store a message for a sandbox that is held, tell the stream, and wake who waits once the session commits."""
    notice = bus.notice(Topic.MESSAGES, standing.id)
    if notice.payload is None:
        await bus.announce(session, Topic.MESSAGES, standing.id)
    async with in_session(session) as pipeline:
        pipeline.send(
            _SAY,
            *(str(saying.id), standing.id, saying.message_type, saying.content, saying.deliver, saying.sender),
            *(saying.at.isoformat(), Change.MESSAGE_STATUS.value, str(standing.project_id), json.dumps(saying.told)),
            *(notice.channel, notice.payload),
        )
        await pipeline.answers(last=True)


async def waiting(
    session: AsyncSession, sandbox_id: str, token_hash: str, *, after: UUID | None, limit: int
) -> Sequence[dict[str, str]]:
    """What is not acknowledged, oldest first, beyond a message if one is given, as the worker is told it.

    One statement with the check of who asks: empty for a token that is not this sandbox's, or that is stale.
    """
    if not ID.fullmatch(sandbox_id):
        return []
    async with in_session(session, reading=True) as pipeline:
        pipeline.send(_WAITING, sandbox_id, token_hash, str(after) if after else None, str(limit))
        (rows,) = await pipeline.answers(last=True)
    return [_shown(row) for row in rows]


def _shown(row: Found) -> dict[str, str]:
    return {name: str(value) for name, value in zip(_FIELDS, row, strict=True)}
