"""One commit for the posts of many sandboxes, as far as they change no state; it waits for nobody's lock."""

import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from datetime import datetime
from typing import Any

import psycopg

from omoi_os import failpoint
from omoi_os.bus.base import Bus, Topic
from omoi_os.errors import BadToken, OmoiError
from omoi_os.sandboxes.events import EFFECTS, ended
from omoi_os.sandboxes.lifecycle import ENDED, Purpose, SandboxState
from omoi_os.sandboxes.masking import Masker
from omoi_os.sandboxes.posts import Answer, NeedsLook, Post, Standing
from omoi_os.sandboxes.service import UNKNOWN_TOKEN
from omoi_os.stream.models import Change
from omoi_os.tasks.lifecycle import TaskState

Connection = psycopg.AsyncConnection[tuple[Any, ...]]

#: The advisory locks are those of `repository.lock`, and all of them come before the first row is locked, which gives
#: the transaction its number: so the numbers of transactions rise with those of a sandbox's events.
_LOCK = """
    WITH free AS MATERIALIZED (
        SELECT id FROM unnest(%b::text[]) AS id WHERE pg_try_advisory_xact_lock(hashtextextended(id, 0))
    )
    SELECT s.id, s.token_hash, s.status, s.end_reason, s.purpose, s.project_id, s.fence, s.last_seq, s.acked_seq,
           s.event_counts, t.fence, t.status
    FROM sandboxes s JOIN tasks t ON t.id = s.task_id
    WHERE s.id = ANY ((SELECT array_agg(id) FROM free)::text[])
    FOR NO KEY UPDATE OF s SKIP LOCKED
"""
_KNOWN = """
    SELECT u.sandbox_id FROM unnest(%b::text[], %b::text[]) AS u(sandbox_id, event_id)
    CROSS JOIN LATERAL (
        SELECT FROM sandbox_events e WHERE e.sandbox_id = u.sandbox_id AND e.event_id = u.event_id LIMIT 1
    ) AS known
"""
_MOVE = """
    WITH moved AS (
        SELECT * FROM unnest(
            %b::text[], %b::uuid[], %b::int8[], %b::int8[], %b::int8[], %b::text[], %b::timestamptz[], %b::timestamptz[]
        ) AS m(id, project_id, first_seq, last_seq, acked_seq, event_counts, heartbeat_at, work_at)
    ), told AS (
        INSERT INTO outbox (change, project_id, sandbox_id, first_seq, last_seq)
        SELECT %b, m.project_id, m.id, m.first_seq, m.last_seq FROM moved m
    )
    UPDATE sandboxes s SET
        last_seq = m.last_seq, acked_seq = m.acked_seq, event_counts = m.event_counts::json,
        last_heartbeat_at = coalesce(m.heartbeat_at, s.last_heartbeat_at),
        first_heartbeat_at = coalesce(s.first_heartbeat_at, m.heartbeat_at),
        last_work_at = coalesce(m.work_at, s.last_work_at)
    FROM moved m WHERE s.id = m.id
"""
_COPY = """
    COPY sandbox_events
        (sandbox_id, seq, event_id, fence, posted_seq, event_type, event_data, source, occurred_at, created_at)
    FROM STDIN
"""


@dataclass(slots=True)
class Outcome:
    """What became of a group: the answers, which hold now, and the sandboxes whose posts must be taken one by one."""

    answers: list[tuple[Post, "Answer | OmoiError"]] = field(default_factory=list)
    apart: set[str] = field(default_factory=set)


async def store(
    connection: Connection, bus: Bus, posts: Mapping[str, Sequence[Post]], *, now: datetime, masker: Masker
) -> Outcome:
    """Store what can be stored of these posts, by their sandboxes, in one transaction of the connection's."""
    outcome, standings = await _number(connection, posts, now=now, masker=masker)
    if not standings:
        await connection.rollback()
        return outcome
    async with connection.cursor() as cursor, cursor.copy(_COPY) as copy:
        await copy.write("".join(row for standing in standings for row in standing.rows))
    failpoint.reach("after_insert")
    await _move(connection, standings)
    after_commit = await bus.announce_on(connection, Topic.STREAM, "")
    failpoint.reach("before_commit")
    await connection.commit()
    failpoint.reach("after_commit_before_ack")
    await after_commit()
    return outcome


async def _number(
    connection: Connection, posts: Mapping[str, Sequence[Post]], *, now: datetime, masker: Masker
) -> tuple[Outcome, list[Standing]]:
    named = [(key, d.event.event_id) for key, some in posts.items() for p in some for d in p.drafts if d.event.event_id]
    locked = await connection.execute(_LOCK, [sorted(posts)])
    known = (
        await connection.execute(_KNOWN, [[key for key, _ in named], [name for _, name in named]]) if named else None
    )
    rows = await locked.fetchall()
    outcome = Outcome(apart=set(posts) - {row[0] for row in rows})
    if known is not None:
        outcome.apart |= {row[0] for row in await known.fetchall()}
    free = [row for row in rows if row[0] not in outcome.apart]
    taken = [_take(row, posts[row[0]], outcome, now=now, masker=masker) for row in free]
    return outcome, [standing for standing in taken if standing is not None]


def _take(
    row: tuple[Any, ...], posts: Sequence[Post], outcome: Outcome, *, now: datetime, masker: Masker
) -> Standing | None:
    """The sandbox's row with the events of its posts, if there is anything to store."""
    sandbox_id, token_hash, status, end_reason, purpose, project_id, fence, last_seq, acked_seq, counts, *task = row
    if status in ENDED:
        outcome.answers += [(post, ended(sandbox_id, end_reason)) for post in posts]
        return None
    moves = purpose == Purpose.WORK and (
        status == SandboxState.CREATING or task[0] != fence or task[1] == TaskState.ASSIGNED
    )
    if moves or any(draft.event.event_type in EFFECTS for post in posts for draft in post.drafts):
        outcome.apart.add(sandbox_id)
        return None
    standing = Standing(sandbox_id, project_id, fence, last_seq, acked_seq, counts)
    answers: list[tuple[Post, Answer | OmoiError]] = []
    try:
        for post in posts:
            current = post.token_hash == token_hash
            answers.append((post, standing.take(post, masker, now=now) if current else BadToken(UNKNOWN_TOKEN)))
    except NeedsLook:
        outcome.apart.add(sandbox_id)
        return None
    outcome.answers += answers
    return standing if standing.rows else None


async def _move(connection: Connection, standings: Sequence[Standing]) -> None:
    moved = [
        (
            standing.sandbox_id,
            standing.project_id,
            standing.last_seq - len(standing.rows) + 1,
            standing.last_seq,
            standing.acked_seq,
            json.dumps(standing.event_counts),
            standing.heartbeat_at,
            standing.work_at,
        )
        for standing in standings
    ]
    columns = [list(column) for column in zip(*moved, strict=True)]
    await connection.execute(_MOVE, [*columns, Change.SANDBOX_EVENT.value])
