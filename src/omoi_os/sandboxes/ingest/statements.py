"""The parts of the statements that store events, with their values; each way of storing puts them together."""

from collections.abc import Mapping, Sequence

import msgspec

from omoi_os.db.pipeline import joined, numbers
from omoi_os.sandboxes.ingest.posts import Post, Row, Standing

#: Whether an event of sandbox `s`, which works on task `t`, changes their states.
MOVES = "s.purpose = 'work' AND (s.status = 'creating' OR t.fence <> s.fence OR t.status = 'assigned')"

#: The sandboxes of $1 whose advisory lock, which is that of `repository.lock`, was free. All of them are locked before
#: the first row is, which gives the transaction its number: so the numbers of transactions rise with those of a
#: sandbox's events.
FREE = """
    SELECT id FROM unnest(string_to_array($1, chr(31))) AS id
    WHERE pg_try_advisory_xact_lock(hashtextextended(id, 0))
"""
ARE_FREE = "s.id = ANY ((SELECT array_agg(id) FROM free)::text[])"

#: What becomes of a sandbox's row `s`; `m` is what `positions` tells.
MOVED = """
    last_seq = m.last_seq, acked_seq = m.acked_seq, event_counts = m.event_counts::json,
    event_bytes = s.event_bytes + m.added_bytes,
    last_heartbeat_at = coalesce(m.heartbeat_at, s.last_heartbeat_at),
    first_heartbeat_at = coalesce(s.first_heartbeat_at, m.heartbeat_at),
    last_work_at = coalesce(m.work_at, s.last_work_at)
"""


def known(first: int) -> str:
    """The sandboxes that have an event of an id already; `named` gives the two values, which begin at this number."""
    return f"""
        SELECT u.sandbox_id
        FROM unnest(string_to_array(${first}, chr(31)), string_to_array(${first + 1}, chr(31)))
            AS u(sandbox_id, event_id)
        CROSS JOIN LATERAL (
            SELECT FROM sandbox_events e WHERE e.sandbox_id = u.sandbox_id AND e.event_id = u.event_id LIMIT 1
        ) AS stored
    """  # noqa: S608  nothing of it comes from outside


def add(first: int) -> str:
    """Adds events; `columns` gives the values, which begin at this number, and the moment comes behind them."""
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
    """  # noqa: S608  nothing of it comes from outside


def tell(change: int) -> str:
    """Adds what was `moved` to the outbox; the value of this number names the change."""
    return f"""
        INSERT INTO outbox (change, project_id, sandbox_id, first_seq, last_seq)
        SELECT ${change}, project_id, id, first_seq, last_seq FROM moved
    """  # noqa: S608  nothing of it comes from outside


def named(posts: Mapping[str, Sequence[Post]]) -> tuple[str, str]:
    """The sandbox and the id of every event that came with one."""
    found = [(key, d.event.event_id) for key, some in posts.items() for p in some for d in p.drafts if d.event.event_id]
    return joined([key for key, _ in found]), joined([name for _, name in found])


def columns(rows: Sequence[Row]) -> tuple[str, ...]:
    """Each column of new events."""
    ids, seqs, event_ids, fences, posted, types, texts, sources, moments = zip(*rows, strict=True)
    return (
        *(joined(ids), numbers(seqs), joined(event_ids), numbers(fences), numbers(posted)),
        *(joined(types), joined(texts), joined(sources), numbers(moments)),
    )


def positions(standings: Sequence[Standing]) -> tuple[str, ...]:
    """What becomes of the rows of sandboxes: numbers, counts, moments."""
    return (
        numbers([each.last_seq for each in standings]),
        numbers([each.acked_seq for each in standings]),
        joined([msgspec.json.encode(each.event_counts).decode() for each in standings]),
        numbers([each.added_bytes for each in standings]),
        numbers([each.heartbeat_at and each.heartbeat_at.isoformat() for each in standings]),
        numbers([each.work_at and each.work_at.isoformat() for each in standings]),
    )
