"""One round trip for sandboxes whose rows this process remembers; where one has changed since, nothing is stored."""

from collections import OrderedDict
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime

from omoi_os.bus.base import Bus, Notice, Topic
from omoi_os.db.pipeline import BEGIN, COMMIT, PLANNED, Pipeline, Statement, joined, numbers
from omoi_os.masking import Masker
from omoi_os.sandboxes.ingest import statements
from omoi_os.sandboxes.ingest.group import has_effect
from omoi_os.sandboxes.ingest.posts import Answers, NeedsLook, Post, Standing
from omoi_os.sandboxes.ingest.quota import MAX_EVENT_BYTES
from omoi_os.sandboxes.lifecycle import ENDED
from omoi_os.stream.models import Change

MAX_REMEMBERED = 10_000

#: `held` are the rows that are as remembered.
_STORE = Statement(
    "omoi_store",
    f"""
    WITH given AS (
        SELECT * FROM unnest(
            string_to_array($1, chr(31)), string_to_array($2, chr(31)), $3::int8[], $4::int8[], $5::int8[], $6::int8[],
            $7::int8[], string_to_array($8, chr(31)), $9::int8[], $10::timestamptz[], $11::timestamptz[]
        ) AS g(
            id, token_hash, fence, was_last, was_acked, last_seq, acked_seq, event_counts, added_bytes, heartbeat_at,
            work_at
        )
    ), free AS MATERIALIZED ({statements.FREE}), known AS MATERIALIZED ({statements.known(12)}), held AS MATERIALIZED (
        SELECT s.id, g.was_last, g.last_seq, g.acked_seq, g.event_counts, g.added_bytes, g.heartbeat_at, g.work_at
        FROM sandboxes s JOIN tasks t ON t.id = s.task_id JOIN given g ON g.id = s.id
        WHERE {statements.ARE_FREE}
          AND s.token_hash = g.token_hash AND s.fence = g.fence
          AND s.last_seq = g.was_last AND s.acked_seq = g.was_acked
          AND s.status <> ALL (string_to_array($14, chr(31))) AND NOT ({statements.MOVES})
          AND s.id NOT IN (SELECT sandbox_id FROM known)
        FOR NO KEY UPDATE OF s SKIP LOCKED
    ), added AS (
        {statements.add(15)} WHERE sandbox_id IN (SELECT id FROM held)
    ), moved AS (
        UPDATE sandboxes s SET {statements.MOVED} FROM held m WHERE s.id = m.id
        RETURNING s.project_id, s.id, m.was_last + 1 AS first_seq, s.last_seq
    ), told AS ({statements.tell(25)})
    SELECT id, CASE WHEN $27::text IS NOT NULL THEN pg_notify($26, $27)::text END FROM moved
    """,  # noqa: S608  nothing of it comes from outside
)


@dataclass(frozen=True, slots=True)
class Remembered:
    """A sandbox's row, as far as events need it, as the last commit of this process left it."""

    token_hash: str
    fence: int
    last_seq: int
    acked_seq: int
    event_counts: dict[str, int]
    event_bytes: int = 0


class Memory:
    """The rows of the sandboxes that posted last."""

    def __init__(self, *, limit: int = MAX_REMEMBERED) -> None:
        self._limit = limit
        self._rows: OrderedDict[str, Remembered] = OrderedDict()

    def get(self, sandbox_id: str) -> Remembered | None:
        """The row, if it is remembered."""
        return self._rows.get(sandbox_id)

    def keep(self, standing: Standing) -> None:
        """What a commit has left."""
        self._rows[standing.sandbox_id] = Remembered(
            standing.token_hash,
            standing.fence,
            standing.last_seq,
            standing.acked_seq,
            standing.event_counts,
            standing.event_bytes + standing.added_bytes,
        )
        self._rows.move_to_end(standing.sandbox_id)
        if len(self._rows) > self._limit:
            self._rows.popitem(last=False)

    def forget(self, sandbox_id: str) -> None:
        """It may have changed."""
        self._rows.pop(sandbox_id, None)


@dataclass(frozen=True, slots=True)
class _Try:
    """The posts of one sandbox, numbered by what is remembered of it."""

    row: Remembered
    posts: Sequence[Post]
    standing: Standing
    answers: Answers


async def store(
    pipeline: Pipeline,
    bus: Bus,
    posts: Mapping[str, Sequence[Post]],
    *,
    now: datetime,
    masker: Masker,
    memory: Memory,
    max_bytes: int = MAX_EVENT_BYTES,
) -> Answers:
    """Store the posts of those sandboxes whose rows are as they are remembered. Only they are answered."""
    numbered = {key: _number(key, some, memory, masker, now=now, max_bytes=max_bytes) for key, some in posts.items()}
    tries = {key: found for key, found in numbered.items() if found is not None}
    if not tries:
        return []
    notice = bus.notice(Topic.STREAM, "")
    pipeline.send(BEGIN)
    pipeline.send(PLANNED)
    _send(pipeline, list(tries.values()), notice, now=now)
    pipeline.send(COMMIT)
    try:
        _, _, stored, _ = await pipeline.answers(last=True)
    except BaseException:
        for key in tries:
            memory.forget(key)
        raise
    if stored and notice.committed is not None:
        notice.committed()
    done = {row[0] for row in stored}
    answers: Answers = []
    for key, found in tries.items():
        if key in done:
            memory.keep(found.standing)
            answers += found.answers
        else:
            memory.forget(key)
    return answers


def _number(
    key: str, posts: Sequence[Post], memory: Memory, masker: Masker, *, now: datetime, max_bytes: int
) -> _Try | None:
    row = memory.get(key)
    if row is None or has_effect(posts):
        return None
    counts, size = dict(row.event_counts), row.event_bytes
    standing = Standing(key, row.token_hash, row.fence, row.last_seq, row.acked_seq, counts, size, max_bytes=max_bytes)
    try:
        answers = standing.take_all(posts, masker, now=now)
    except NeedsLook:
        return None
    return _Try(row, posts, standing, answers) if standing.rows else None


def _send(pipeline: Pipeline, tries: Sequence[_Try], notice: Notice, *, now: datetime) -> None:
    standings = [each.standing for each in tries]
    ids, names = statements.named({each.standing.sandbox_id: each.posts for each in tries})
    pipeline.send(
        _STORE,
        joined([each.sandbox_id for each in standings]),
        joined([each.token_hash for each in standings]),
        numbers([each.fence for each in standings]),
        numbers([each.row.last_seq for each in tries]),
        numbers([each.row.acked_seq for each in tries]),
        *statements.positions(standings),
        ids,
        names,
        joined(sorted(ENDED)),
        *statements.columns([row for standing in standings for row in standing.rows]),
        now.isoformat(),
        Change.SANDBOX_EVENT.value,
        notice.channel,
        notice.payload,
    )
