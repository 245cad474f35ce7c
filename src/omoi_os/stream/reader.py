"""Reads the outbox behind a position, in the same order for all readers."""

from collections.abc import Collection, Iterator, Sequence
from dataclasses import dataclass
from typing import Any
from uuid import UUID

from sqlalchemy import Row, text
from sqlalchemy.ext.asyncio import AsyncConnection, AsyncSession

from omoi_os.stream import open_transactions
from omoi_os.stream.filters import Filter
from omoi_os.stream.lines import event_line, item_line, moment, one_line, text_frame
from omoi_os.stream.position import BEGINNING, LAST, Position
from omoi_os.visibility import audience_sql, visible_sql

#: Limits of one read: number of rows and events, and bytes of their data. The first one may exceed the bytes alone.
MAX_ROWS = 500
MAX_BYTES = 4 * 1024 * 1024

#: The rows below the oldest open transaction, with runs expanded to their events, up to the limits.
_READ = text(f"""
WITH horizon AS MATERIALIZED ({open_transactions.HORIZON}),
found AS MATERIALIZED (
    SELECT o.*,
        sum(coalesce(o.last_seq - o.first_seq + 1, 1)) OVER (ORDER BY o.xid, o.id ROWS UNBOUNDED PRECEDING)
            - coalesce(o.last_seq - o.first_seq + 1, 1) AS before
    FROM (
        SELECT * FROM outbox
        WHERE (xid, id) >= (:xid, :id) AND xid < (SELECT xid FROM horizon) AND change <> 'pruned'
            AND (CAST(:sandbox_id AS text) IS NULL OR sandbox_id = :sandbox_id)
            AND (CAST(:project_id AS uuid) IS NULL OR project_id = :project_id)
            AND (CAST(:types AS text[]) IS NULL OR change LIKE ANY(:types))
            AND {visible_sql("project_id", ":viewer")}
        ORDER BY xid, id LIMIT :rows
    ) AS o
),
kept AS MATERIALIZED (SELECT * FROM found WHERE before < :rows),
expanded AS MATERIALIZED (
    SELECT k.xid, k.id, coalesce(e.seq, 0) AS seq, k.change, k.project_id, k.sandbox_id, e.event_id,
        e.event_type, e.source, e.occurred_at, coalesce(e.created_at, k.created_at) AS created_at,
        coalesce(e.event_data, k.data)::text AS body,
        sum(coalesce(octet_length(coalesce(e.event_data, k.data)::text), 0))
            OVER (ORDER BY k.xid, k.id, e.seq ROWS UNBOUNDED PRECEDING) AS upto
    FROM kept AS k LEFT JOIN LATERAL (
        -- The limit keeps the planner from joining with the whole table: one index scan for each run.
        SELECT * FROM sandbox_events
        WHERE k.change = 'sandbox.event' AND sandbox_id = k.sandbox_id AND seq BETWEEN k.first_seq AND k.last_seq
        ORDER BY seq LIMIT 1000000
    ) AS e ON true
    WHERE (k.xid, k.id, coalesce(e.seq, 0)) > (:xid, :id, :seq)
)
SELECT horizon.xid AS horizon, coalesce((SELECT max(xid) FROM outbox) >= horizon.xid, false) AS later,
    (SELECT count(*) FROM found) AS found, (SELECT count(*) FROM kept) AS kept,
    (SELECT count(*) FROM expanded) AS expanded,
    t.*,
    -- Once for each run of rows of one project: it may have many members.
    CASE WHEN t.project_id IS DISTINCT FROM lag(t.project_id) OVER (ORDER BY t.xid, t.id, t.seq)
        THEN {audience_sql("t.project_id")} END AS audience
FROM horizon LEFT JOIN LATERAL (
    SELECT * FROM expanded WHERE body IS NULL OR upto - octet_length(body) < :bytes ORDER BY xid, id, seq LIMIT :rows
) AS t ON true
ORDER BY t.xid, t.id, t.seq
""")  # noqa: S608  both parts are constants

#: The events of one sandbox are numbered without gaps in the order of their commits, so their number is enough.
_EVENTS = text("""
SELECT * FROM (
    SELECT seq, event_id, event_type, source, occurred_at, created_at, event_data::text AS body,
        sum(octet_length(event_data::text)) OVER (ORDER BY seq ROWS UNBOUNDED PRECEDING) AS upto
    FROM (SELECT * FROM sandbox_events WHERE sandbox_id = :sandbox_id AND seq > :after ORDER BY seq LIMIT :rows) AS next
) AS sized WHERE upto - octet_length(body) < :bytes ORDER BY seq
""")

_FLOOR = text("SELECT xid, id FROM (SELECT * FROM outbox ORDER BY xid, id LIMIT 1) AS oldest WHERE change = 'pruned'")


@dataclass(frozen=True, slots=True, eq=False)
class Item:
    """One change as it is sent to every subscriber."""

    position: Position
    type: str
    project_id: UUID
    sandbox_id: str | None
    #: The users, apart from administrators, who may see the project; empty if it does not exist.
    audience: frozenset[UUID]
    frame: bytes


@dataclass(frozen=True, slots=True)
class Page:
    """Changes that were read, and where to continue."""

    items: list[Item]
    end: Position
    #: More can be read now.
    more: bool = False
    #: More can be read when an older transaction ends, which no wake-up announces.
    later: bool = False


async def now(connection: AsyncConnection) -> Position:
    """Return the position behind everything that can be read now."""
    return Position(await open_transactions.first_open(connection), 0, 0)


async def oldest(connection: AsyncConnection) -> Position:
    """Return the position after which no row was deleted."""
    floor = (await connection.execute(_FLOOR)).one_or_none()
    return Position(floor.xid, floor.id, 0) if floor else BEGINNING


async def is_whole_after(connection: AsyncConnection, position: Position) -> bool:
    """Return whether no row behind a position was deleted and the position is from this database. Ask after reading."""
    # Another process may have read further, because it ignores more transactions of other databases.
    return await oldest(connection) <= position and position.xid <= await open_transactions.next_transaction(connection)


async def read(
    connection: AsyncConnection,
    after: Position,
    *,
    where: Filter | None = None,
    viewer: UUID | None = None,
    foreign: Collection[int] = (),
) -> Page:
    """Return the next changes behind a position that match the filter and that the viewer may see.

    `viewer` comes from `visibility.restricted_to`; None reads the changes of every project. `foreign` are open
    transactions of other databases, which need not end first (`open_transactions.foreign_transactions`).
    """
    where = where or Filter()
    parameters = {
        **after._asdict(),
        "sandbox_id": where.sandbox_id,
        "project_id": where.project_id,
        "types": where.patterns(),
        "viewer": viewer,
        "foreign": list(foreign),
        "rows": MAX_ROWS,
        "bytes": MAX_BYTES,
    }
    rows = (await connection.execute(_READ, parameters)).all()
    return _page(after, rows)


def _page(after: Position, rows: Sequence[Row[Any]]) -> Page:
    first, last = rows[0], rows[-1]
    returned = 0 if first.xid is None else len(rows)
    items = list(_items(rows)) if returned else []
    if returned < first.expanded:
        return Page(items, Position(last.xid, last.id, last.seq), more=True)
    if first.kept < first.found or first.found == MAX_ROWS:
        end = Position(last.xid, last.id, LAST) if returned else Position(after.xid, after.id, LAST)
        return Page(items, end, more=True)
    return Page(items, max(after, Position(first.horizon, 0, 0)), later=first.later)


def _items(rows: Sequence[Row[Any]]) -> Iterator[Item]:
    audience: frozenset[UUID] = frozenset()
    for row in rows:
        audience = audience if row.audience is None else frozenset(row.audience)
        if row.body is not None:
            yield _item(row, audience)


def _item(row: Row[Any], audience: frozenset[UUID]) -> Item:
    position = Position(row.xid, row.id, row.seq)
    head = {
        "type": row.change,
        "seq": row.seq if row.event_id is not None else row.id,
        "timestamp": moment(row.created_at),
        "project_id": str(row.project_id),
        "sandbox_id": row.sandbox_id,
    }
    data = event_line(row) if row.event_id is not None else one_line(row.body)
    frame = text_frame(item_line(position, head=head, data=data))
    return Item(position, row.change, row.project_id, row.sandbox_id, audience, frame)


async def read_events(session: AsyncSession, sandbox_id: str, *, after: int) -> Sequence[Row[Any]]:
    """Return the next events of one sandbox, as `event_line` takes them."""
    parameters = {"sandbox_id": sandbox_id, "after": after, "rows": MAX_ROWS, "bytes": MAX_BYTES}
    return (await session.execute(_EVENTS, parameters)).all()
