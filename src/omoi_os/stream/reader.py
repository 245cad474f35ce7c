"""Reads the outbox behind a position, in the one order that all readers share."""

from collections.abc import Collection, Sequence
from dataclasses import dataclass
from typing import Any
from uuid import UUID

from sqlalchemy import Row, text
from sqlalchemy.ext.asyncio import AsyncConnection, AsyncSession

from omoi_os.stream import horizon
from omoi_os.stream.filters import Filter
from omoi_os.stream.lines import event_line, item_line, moment, one_line, text_frame
from omoi_os.stream.position import BEGINNING, LAST, Position

#: What one read takes at most: rows and events, and bytes of their data, of which the first may alone be more.
MAX_ROWS = 500
MAX_BYTES = 4 * 1024 * 1024

#: Rows below the oldest open transaction, runs expanded to their events, cut where they become too many or too large.
_READ = text(f"""
WITH horizon AS MATERIALIZED ({horizon.HORIZON}),
found AS MATERIALIZED (
    SELECT o.*, p.created_by AS owner,
        sum(coalesce(o.last_seq - o.first_seq + 1, 1)) OVER (ORDER BY o.xid, o.id ROWS UNBOUNDED PRECEDING)
            - coalesce(o.last_seq - o.first_seq + 1, 1) AS before
    FROM (
        SELECT * FROM outbox
        WHERE (xid, id) >= (:xid, :id) AND xid < (SELECT xid FROM horizon) AND change <> 'pruned'
            AND (CAST(:sandbox_id AS text) IS NULL OR sandbox_id = :sandbox_id)
            AND (CAST(:project_id AS uuid) IS NULL OR project_id = :project_id)
            AND (CAST(:types AS text[]) IS NULL OR change LIKE ANY(:types))
            AND (CAST(:owner AS uuid) IS NULL
                OR project_id IN (SELECT projects.id FROM projects WHERE created_by = :owner))
        ORDER BY xid, id LIMIT :rows
    ) AS o LEFT JOIN projects AS p ON p.id = o.project_id
),
kept AS MATERIALIZED (SELECT * FROM found WHERE before < :rows),
told AS MATERIALIZED (
    SELECT k.xid, k.id, coalesce(e.seq, 0) AS seq, k.change, k.project_id, k.sandbox_id, k.owner, e.event_id,
        e.event_type, e.source, e.occurred_at, coalesce(e.created_at, k.created_at) AS created_at,
        coalesce(e.event_data, k.data)::text AS body,
        sum(coalesce(octet_length(coalesce(e.event_data, k.data)::text), 0))
            OVER (ORDER BY k.xid, k.id, e.seq ROWS UNBOUNDED PRECEDING) AS upto
    FROM kept AS k LEFT JOIN LATERAL (
        -- The limit keeps this apart: one look into the index for each run, never a look at the whole table.
        SELECT * FROM sandbox_events
        WHERE k.change = 'sandbox.event' AND sandbox_id = k.sandbox_id AND seq BETWEEN k.first_seq AND k.last_seq
        ORDER BY seq LIMIT 1000000
    ) AS e ON true
    WHERE (k.xid, k.id, coalesce(e.seq, 0)) > (:xid, :id, :seq)
)
SELECT horizon.xid AS horizon, coalesce((SELECT max(xid) FROM outbox) >= horizon.xid, false) AS later,
    (SELECT count(*) FROM found) AS found, (SELECT count(*) FROM kept) AS kept, (SELECT count(*) FROM told) AS told,
    t.*
FROM horizon LEFT JOIN LATERAL (
    SELECT * FROM told WHERE body IS NULL OR upto - octet_length(body) < :bytes ORDER BY xid, id, seq LIMIT :rows
) AS t ON true
ORDER BY t.xid, t.id, t.seq
""")  # noqa: S608  both parts are constants

#: A sandbox's own events are numbered without gaps and in the order of their commits, so their number is enough.
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
    """One change that is told, written once."""

    position: Position
    type: str
    project_id: UUID
    sandbox_id: str | None
    #: Who owns the project now.
    owner: UUID | None
    frame: bytes


@dataclass(frozen=True, slots=True)
class Page:
    """What was found, and where to go on."""

    items: list[Item]
    end: Position
    #: There is more to read at once.
    more: bool = False
    #: Something waits for an older transaction to end; nobody announces that.
    later: bool = False


async def now(connection: AsyncConnection) -> Position:
    """The position behind everything that can be read now."""
    return Position(await horizon.first_open(connection), 0, 0)


async def oldest(connection: AsyncConnection) -> Position:
    """The position from which on everything was kept."""
    floor = (await connection.execute(_FLOOR)).one_or_none()
    return Position(floor.xid, floor.id, 0) if floor else BEGINNING


async def is_whole_after(connection: AsyncConnection, position: Position) -> bool:
    """Whether everything behind a position was kept, and the position is one of this database. Asked after reading."""
    # Another process may have read further: it may know of more transactions that need not be waited for.
    return await oldest(connection) <= position and position.xid <= await horizon.next_transaction(connection)


async def read(
    connection: AsyncConnection,
    after: Position,
    *,
    where: Filter | None = None,
    owner: UUID | None = None,
    foreign: Collection[int] = (),
) -> Page:
    """The next changes behind a position, of those that the filter wants and in the projects of that owner.

    `foreign` are open transactions of other databases, which are not waited for (`horizon.foreign_transactions`).
    """
    where = where or Filter()
    parameters = {
        **after._asdict(),
        "sandbox_id": where.sandbox_id,
        "project_id": where.project_id,
        "types": where.patterns(),
        "owner": owner,
        "foreign": list(foreign),
        "rows": MAX_ROWS,
        "bytes": MAX_BYTES,
    }
    rows = (await connection.execute(_READ, parameters)).all()
    return _page(after, rows)


def _page(after: Position, rows: Sequence[Row[Any]]) -> Page:
    first, last = rows[0], rows[-1]
    returned = 0 if first.xid is None else len(rows)
    items = [_item(row) for row in rows if row.body is not None] if returned else []
    if returned < first.told:
        return Page(items, Position(last.xid, last.id, last.seq), more=True)
    if first.kept < first.found or first.found == MAX_ROWS:
        end = Position(last.xid, last.id, LAST) if returned else Position(after.xid, after.id, LAST)
        return Page(items, end, more=True)
    return Page(items, max(after, Position(first.horizon, 0, 0)), later=first.later)


def _item(row: Row[Any]) -> Item:
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
    return Item(position, row.change, row.project_id, row.sandbox_id, row.owner, frame)


async def read_events(session: AsyncSession, sandbox_id: str, *, after: int) -> Sequence[Row[Any]]:
    """The next events of one sandbox, each as `event_line` takes it."""
    parameters = {"sandbox_id": sandbox_id, "after": after, "rows": MAX_ROWS, "bytes": MAX_BYTES}
    return (await session.execute(_EVENTS, parameters)).all()
