"""SQL statements of the fast path, and the values they take: one array for each column."""

from collections.abc import Iterable, Sequence

import msgspec

from omoi_os.db.pipeline import Statement, array, text_array
from omoi_os.sandboxes.ingest.event_log import EventLog
from omoi_os.sandboxes.ingest.requests import EventRequest

#: Whether an event of sandbox `s` changes its state or that of its task `t`. A sandbox that serves a spec has no task.
_CHANGES_STATE = (
    "s.purpose = 'work' AND (s.status = 'creating' OR coalesce(t.fence <> s.fence OR t.status = 'assigned', false))"
)

#: The sandboxes of $1 whose advisory lock, the one of `repository.lock`, was free. All of them are locked before the
#: first row is locked, because that is when the transaction gets its number: so the numbers of transactions rise with
#: those of a sandbox's events.
_FREE = """
    SELECT id FROM unnest(string_to_array($1, chr(31))) AS id
    WHERE pg_try_advisory_xact_lock(hashtextextended(id, 0))
"""
_IS_FREE = "s.id = ANY ((SELECT array_agg(id) FROM free)::text[])"

#: Sets the columns of a sandbox's row `s` from `m`, which has those of `new_positions`.
_SET_POSITION = """
    last_seq = m.last_seq, acked_seq = m.acked_seq, event_counts = m.event_counts::json,
    event_bytes = s.event_bytes + m.added_bytes,
    last_heartbeat_at = coalesce(m.heartbeat_at, s.last_heartbeat_at),
    first_heartbeat_at = coalesce(s.first_heartbeat_at, m.heartbeat_at),
    last_work_at = coalesce(m.work_at, s.last_work_at)
"""


def _select_known(first: int) -> str:
    """Select the sandboxes that have stored one of these event ids; `event_ids` gives parameters `first` and next."""
    return f"""
        SELECT u.sandbox_id
        FROM unnest(string_to_array(${first}, chr(31)), string_to_array(${first + 1}, chr(31)))
            AS u(sandbox_id, event_id)
        CROSS JOIN LATERAL (
            SELECT FROM sandbox_events e WHERE e.sandbox_id = u.sandbox_id AND e.event_id = u.event_id LIMIT 1
        ) AS stored
    """  # noqa: S608  built from constants


def _insert_events(first: int) -> str:
    """Insert events; `event_columns` gives the parameters from `first` on, and `created_at` follows them."""
    kinds = ("text", "int8", "text", "int8", "int8", "text", "text", "text", "timestamptz")
    arrays = [
        f"string_to_array(${number}, chr(31))" if kind == "text" else f"${number}::{kind}[]"
        for number, kind in enumerate(kinds, start=first)
    ]
    return f"""
        INSERT INTO sandbox_events
            (sandbox_id, seq, event_id, fence, posted_seq, event_type, event_data, source, occurred_at, created_at)
        SELECT sandbox_id, seq, event_id, fence, posted_seq, event_type, event_data::json, source, occurred_at,
            ${first + len(kinds)}
        FROM unnest({", ".join(arrays)})
            AS e(sandbox_id, seq, event_id, fence, posted_seq, event_type, event_data, source, occurred_at)
    """  # noqa: S608  built from constants


def _insert_outbox(change: int) -> str:
    """Insert the rows of `updated` into the outbox; parameter `change` names the kind of change."""
    return f"""
        INSERT INTO outbox (change, project_id, sandbox_id, first_seq, last_seq)
        SELECT ${change}, project_id, id, first_seq, last_seq FROM updated
    """  # noqa: S608  built from constants


#: `held` are the rows that still are at their cached position.
STORE_CACHED = Statement(
    "omoi_store_cached",
    f"""
    WITH given AS (
        SELECT * FROM unnest(
            string_to_array($1, chr(31)), string_to_array($2, chr(31)), $3::int8[], $4::int8[], $5::int8[], $6::int8[],
            $7::int8[], string_to_array($8, chr(31)), $9::int8[], $10::timestamptz[], $11::timestamptz[]
        ) AS g(
            id, token_hash, fence, was_last, was_acked, last_seq, acked_seq, event_counts, added_bytes, heartbeat_at,
            work_at
        )
    ), free AS MATERIALIZED ({_FREE}), known AS MATERIALIZED (
        {_select_known(12)}
    ), held AS MATERIALIZED (
        SELECT s.id, g.was_last, g.last_seq, g.acked_seq, g.event_counts, g.added_bytes, g.heartbeat_at, g.work_at
        FROM given g JOIN sandboxes s ON s.id = g.id LEFT JOIN tasks t ON t.id = s.task_id
        WHERE {_IS_FREE}
          AND s.token_hash = g.token_hash AND s.fence = g.fence
          AND s.last_seq = g.was_last AND s.acked_seq = g.was_acked
          AND s.status <> ALL (string_to_array($14, chr(31))) AND NOT ({_CHANGES_STATE})
          AND s.id NOT IN (SELECT sandbox_id FROM known)
        FOR NO KEY UPDATE OF s SKIP LOCKED
    ), inserted AS (
        {_insert_events(15)} WHERE sandbox_id IN (SELECT id FROM held)
    ), updated AS (
        UPDATE sandboxes s SET {_SET_POSITION} FROM held m WHERE s.id = m.id
        RETURNING s.project_id, s.id, m.was_last + 1 AS first_seq, s.last_seq
    ), published AS ({_insert_outbox(25)})
    SELECT id, CASE WHEN $27::text IS NOT NULL THEN pg_notify($26, $27)::text END FROM updated
    """,  # noqa: S608  built from constants
)
LOCK = Statement(
    "omoi_lock",
    f"""
    WITH free AS MATERIALIZED ({_FREE})
    SELECT s.id, s.token_hash, s.status, s.end_reason, s.fence, s.last_seq, s.acked_seq, s.event_counts,
           s.event_bytes, {_CHANGES_STATE}
    FROM sandboxes s LEFT JOIN tasks t ON t.id = s.task_id
    WHERE {_IS_FREE}
    FOR NO KEY UPDATE OF s SKIP LOCKED
    """,  # noqa: S608  built from constants
)
SELECT_KNOWN = Statement("omoi_select_known", _select_known(1))
INSERT = Statement("omoi_insert_events", _insert_events(1))
UPDATE = Statement(
    "omoi_update_positions",
    f"""
    WITH updated AS (
        UPDATE sandboxes s SET {_SET_POSITION}
        FROM unnest(
            string_to_array($1, chr(31)), $2::int8[], $3::int8[], $4::int8[], string_to_array($5, chr(31)),
            $6::int8[], $7::timestamptz[], $8::timestamptz[]
        ) AS m(id, first_seq, last_seq, acked_seq, event_counts, added_bytes, heartbeat_at, work_at)
        WHERE s.id = m.id
        RETURNING s.project_id, s.id, m.first_seq, m.last_seq
    ), published AS ({_insert_outbox(9)})
    SELECT pg_notify($10, payload) FROM unnest(ARRAY[$11]::text[]) AS payload WHERE payload IS NOT NULL
    """,  # noqa: S608  built from constants
)


def event_ids(requests: Iterable[EventRequest]) -> tuple[str, str]:
    """Return the sandboxes and ids of the events that were posted with an id."""
    found = [
        (request.sandbox_id, judged.event.event_id)
        for request in requests
        for judged in request.batch.events
        if judged.event.event_id
    ]
    return text_array([sandbox_id for sandbox_id, _ in found]), text_array([event_id for _, event_id in found])


def event_columns(logs: Sequence[EventLog]) -> tuple[str, ...]:
    """Return the columns of the events that were added to these logs."""
    rows = [
        (
            *(log.sandbox_id, stored.seq, stored.event_id, log.before.fence, stored.posted_seq, stored.event_type),
            *(judged.text, judged.event.source, (judged.occurred_at or log.now).isoformat()),
        )
        for log in logs
        for stored, judged in log.added
    ]
    ids, seqs, names, fences, posted, types, texts, sources, moments = zip(*rows, strict=True)
    return (
        *(text_array(ids), array(seqs), text_array(names), array(fences), array(posted)),
        *(text_array(types), text_array(texts), text_array(sources), array(moments)),
    )


def new_positions(logs: Sequence[EventLog]) -> tuple[str, ...]:
    """Return the columns of the sandboxes' rows that the events of these logs change."""
    after = [log.position for log in logs]
    return (
        array([each.last_seq for each in after]),
        array([each.acked_seq for each in after]),
        text_array([msgspec.json.encode(each.event_counts).decode() for each in after]),
        array([log.added_bytes for log in logs]),
        array([log.heartbeat_at and log.heartbeat_at.isoformat() for log in logs]),
        array([log.work_at and log.work_at.isoformat() for log in logs]),
    )
