"""Deletes outbox rows that are too old to resume from."""

from datetime import datetime

from sqlalchemy import text

from omoi_os.db.base import Sessions

BATCH = 5_000
#: How many batches one call deletes at most; the next call deletes the rest.
MAX_BATCHES = 20
#: Advisory lock: one process at a time deletes rows.
_LOCK = 7_203_114_801

#: Deletes every expired row except the newest, which stays as the mark of where the outbox begins.
_PRUNE = """
WITH oldest AS MATERIALIZED (SELECT xid, id, created_at FROM outbox ORDER BY xid, id LIMIT :batch),
expired AS MATERIALIZED (
    SELECT xid, id FROM (
        SELECT xid, id, bool_and(created_at < :before) OVER (ORDER BY xid, id ROWS UNBOUNDED PRECEDING) AS is_old
        FROM oldest
    ) AS judged WHERE is_old
),
mark AS (
    UPDATE outbox SET change = 'pruned', data = NULL, first_seq = NULL, last_seq = NULL
    WHERE (xid, id) = (SELECT xid, id FROM expired ORDER BY xid DESC, id DESC LIMIT 1) AND change <> 'pruned'
),
gone AS (
    DELETE FROM outbox USING expired
    WHERE outbox.xid = expired.xid AND outbox.id = expired.id
        AND (expired.xid, expired.id) < (SELECT xid, id FROM expired ORDER BY xid DESC, id DESC LIMIT 1)
    RETURNING 1
)
SELECT count(*) FROM gone
"""


async def prune(sessions: Sessions, *, before: datetime) -> int:
    """Delete rows written before a moment, in batches; return how many, 0 if another process is doing it."""
    deleted = 0
    for _ in range(MAX_BATCHES):
        async with sessions.begin() as session:
            if not (await session.execute(text("SELECT pg_try_advisory_xact_lock(:key)"), {"key": _LOCK})).scalar_one():
                return deleted
            number: int = (await session.execute(text(_PRUNE), {"batch": BATCH, "before": before})).scalar_one()
        deleted += number
        if number < BATCH - 1:
            break
    return deleted
