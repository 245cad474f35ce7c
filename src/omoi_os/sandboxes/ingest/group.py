"""One commit for the posts of many sandboxes, as far as they change no state; it waits for nobody's lock."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from datetime import datetime

import msgspec

from omoi_os.bus.base import Bus, Notice, Topic
from omoi_os.db.pipeline import BEGIN, COMMIT, PLANNED, ROLLBACK, Found, Pipeline, Statement, joined, numbers
from omoi_os.masking import Masker
from omoi_os.sandboxes.ingest import statements
from omoi_os.sandboxes.ingest.events import EFFECTS, ended
from omoi_os.sandboxes.ingest.posts import Answers, NeedsLook, Post, Row, Standing
from omoi_os.sandboxes.ingest.quota import MAX_EVENT_BYTES
from omoi_os.sandboxes.lifecycle import ENDED
from omoi_os.stream.models import Change
from omoi_os.system import failpoint

_LOCK = Statement(
    "omoi_lock",
    f"""
    WITH free AS MATERIALIZED ({statements.FREE})
    SELECT s.id, s.token_hash, s.status, s.end_reason, s.fence, s.last_seq, s.acked_seq, s.event_counts,
           s.event_bytes, {statements.MOVES}
    FROM sandboxes s JOIN tasks t ON t.id = s.task_id
    WHERE {statements.ARE_FREE}
    FOR NO KEY UPDATE OF s SKIP LOCKED
    """,  # noqa: S608  nothing of it comes from outside
)
_KNOWN = Statement("omoi_known", statements.known(1))
_ADD = Statement("omoi_add", statements.add(1))
_MOVE = Statement(
    "omoi_move",
    f"""
    WITH moved AS (
        UPDATE sandboxes s SET {statements.MOVED}
        FROM unnest(
            string_to_array($1, chr(31)), $2::int8[], $3::int8[], $4::int8[], string_to_array($5, chr(31)),
            $6::int8[], $7::timestamptz[], $8::timestamptz[]
        ) AS m(id, first_seq, last_seq, acked_seq, event_counts, added_bytes, heartbeat_at, work_at)
        WHERE s.id = m.id
        RETURNING s.project_id, s.id, m.first_seq, m.last_seq
    ), told AS ({statements.tell(9)})
    SELECT pg_notify($10, payload) FROM unnest(ARRAY[$11]::text[]) AS payload WHERE payload IS NOT NULL
    """,  # noqa: S608  nothing of it comes from outside
)


@dataclass(slots=True)
class Outcome:
    """What became of a group: the answers, which hold now, the rows of the sandboxes that have new events, and the
    sandboxes whose posts must be taken one by one."""

    answers: Answers = field(default_factory=list)
    standings: list[Standing] = field(default_factory=list)
    apart: set[str] = field(default_factory=set)


async def store(
    pipeline: Pipeline,
    bus: Bus,
    posts: Mapping[str, Sequence[Post]],
    *,
    now: datetime,
    masker: Masker,
    max_bytes: int = MAX_EVENT_BYTES,
) -> Outcome:
    """Store what can be stored of these posts, by their sandboxes, in one transaction of two round trips."""
    outcome = await _number(pipeline, posts, now=now, masker=masker, max_bytes=max_bytes)
    standings = outcome.standings
    if not standings:
        pipeline.send(ROLLBACK)
        await pipeline.answers(last=True)
        return outcome
    notice = bus.notice(Topic.STREAM, "")
    _add(pipeline, [row for standing in standings for row in standing.rows], now=now)
    await _reach(pipeline, "after_insert")
    _move(pipeline, standings, notice)
    await _reach(pipeline, "before_commit")
    pipeline.send(COMMIT)
    await pipeline.answers(last=True)
    failpoint.reach("after_commit_before_ack")
    if notice.committed is not None:
        notice.committed()
    return outcome


async def _reach(pipeline: Pipeline, name: str) -> None:
    """Come to a failpoint, with all that was sent before carried out."""
    if failpoint.ARMED:
        await pipeline.answers(last=False)
        failpoint.reach(name)


async def _number(
    pipeline: Pipeline, posts: Mapping[str, Sequence[Post]], *, now: datetime, masker: Masker, max_bytes: int
) -> Outcome:
    ids, names = statements.named(posts)
    pipeline.send(BEGIN)
    pipeline.send(PLANNED)
    pipeline.send(_LOCK, joined(sorted(posts)))
    if ids:
        pipeline.send(_KNOWN, ids, names)
    _, _, rows, *known = await pipeline.answers(last=False)
    outcome = Outcome(apart=set(posts) - {row[0] for row in rows} | {str(row[0]) for found in known for row in found})
    free = [row for row in rows if row[0] not in outcome.apart]
    for row in free:
        _take(row, posts[str(row[0])], outcome, now=now, masker=masker, max_bytes=max_bytes)
    return outcome


def _take(
    row: Found, posts: Sequence[Post], outcome: Outcome, *, now: datetime, masker: Masker, max_bytes: int
) -> None:
    """Give the events of a sandbox's posts their numbers."""
    sandbox_id, token_hash, status, end_reason, fence, last_seq, acked_seq, counts, event_bytes, moves = row
    sandbox_id = str(sandbox_id)
    if status in ENDED:
        outcome.answers += [(post, ended(sandbox_id, end_reason)) for post in posts]
        return
    if moves == "t" or has_effect(posts):
        outcome.apart.add(sandbox_id)
        return
    event_counts = msgspec.json.decode(counts or "{}", type=dict[str, int])
    token = str(token_hash)
    numbers_of = (int(fence or 0), int(last_seq or 0), int(acked_seq or 0))
    standing = Standing(sandbox_id, token, *numbers_of, event_counts, int(event_bytes or 0), max_bytes=max_bytes)
    try:
        answers = standing.take_all(posts, masker, now=now)
    except NeedsLook:
        outcome.apart.add(sandbox_id)
        return
    outcome.answers += answers
    if standing.rows:
        outcome.standings.append(standing)


def has_effect(posts: Sequence[Post]) -> bool:
    """Whether one of the events changes more than the log and the sandbox's own columns."""
    return any(draft.event.event_type in EFFECTS for post in posts for draft in post.drafts)


def _add(pipeline: Pipeline, rows: Sequence[Row], *, now: datetime) -> None:
    pipeline.send(_ADD, *statements.columns(rows), now.isoformat())


def _move(pipeline: Pipeline, standings: Sequence[Standing], notice: Notice) -> None:
    pipeline.send(
        _MOVE,
        joined([each.sandbox_id for each in standings]),
        numbers([each.last_seq - len(each.rows) + 1 for each in standings]),
        *statements.positions(standings),
        Change.SANDBOX_EVENT.value,
        notice.channel,
        notice.payload,
    )
