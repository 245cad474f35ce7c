"""Finds the open transactions that readers of the outbox have to wait for."""

from collections.abc import Collection
from dataclasses import dataclass
from datetime import datetime

from sqlalchemy import text
from sqlalchemy.ext.asyncio import AsyncConnection

#: Transactions that are certain to belong to another database of the server: they never write to our outbox.
#: The process id of the lock identifies the backend; `backend_xid` alone could be of a backend that has replaced it.
_FOREIGN = """
    SELECT held.transactionid AS xid FROM pg_locks AS held JOIN pg_stat_activity AS activity ON activity.pid = held.pid
    WHERE held.locktype = 'transactionid' AND held.mode = 'ExclusiveLock' AND held.granted
        AND activity.datname <> current_database()
    UNION ALL SELECT transaction FROM pg_prepared_xacts WHERE database <> current_database()
"""

#: The first transaction that may still write to our outbox. A snapshot lists the open transactions of the whole server;
#: those in `:foreign` do not count. Our own is not in that list.
HORIZON = """
    SELECT coalesce(least(
        (SELECT min(open.xid::text::bigint) FROM pg_snapshot_xip(pg_current_snapshot()) AS open(xid)
            WHERE open.xid::text::bigint <> ALL(CAST(:foreign AS bigint[]))),
        pg_current_xact_id_if_assigned()::text::bigint
    ), pg_snapshot_xmax(pg_current_snapshot())::text::bigint) AS xid
"""

_FIRST = text(HORIZON)
_NEXT = text("SELECT pg_snapshot_xmax(pg_current_snapshot())::text::bigint")

_OPEN_FOREIGN = text(f"""
SELECT open.xid::text::bigint FROM pg_snapshot_xip(pg_current_snapshot()) AS open(xid)
WHERE open.xid::xid IN ({_FOREIGN}) OR open.xid::text::bigint = ANY(CAST(:known AS bigint[]))
""")  # noqa: S608  both parts are constants

#: `xact_start` of another role's session is hidden from a role without `pg_read_all_stats`.
_LONG = text("""
SELECT activity.backend_xid::text AS xid, activity.pid, activity.application_name AS name, activity.xact_start AS since
FROM pg_stat_activity AS activity
WHERE activity.datname = current_database() AND activity.backend_xid IS NOT NULL AND activity.pid <> pg_backend_pid()
    AND (activity.xact_start IS NULL OR activity.xact_start <= now() - make_interval(secs => :seconds))
UNION ALL
SELECT transaction::text, NULL, gid, prepared FROM pg_prepared_xacts
WHERE database = current_database() AND prepared <= now() - make_interval(secs => :seconds)
ORDER BY since NULLS LAST
""")


@dataclass(frozen=True, slots=True)
class LongTransaction:
    """An open transaction of our database that holds the stream back."""

    #: The number of the transaction.
    xid: str
    #: The backend's process id; None for a prepared transaction, which has no session.
    pid: int | None
    #: The session's application name, or the identifier of the prepared transaction.
    name: str
    #: None if our role may not see it.
    since: datetime | None

    def describe(self) -> str:
        """Say what holds the stream back, since when, and what to do."""
        since = f" since {self.since:%Y-%m-%d %H:%M:%S %Z}" if self.since else ""
        if self.pid is None:
            return (
                f"live updates are delayed: the prepared transaction {self.name!r} has been open{since};"
                f" end it with COMMIT PREPARED or ROLLBACK PREPARED '{self.name}'"
            )
        return (
            f"live updates are delayed: a transaction of {self.name or 'an unnamed application'!r} (pid {self.pid}) has"
            f" been open{since}; end it there, or run SELECT pg_terminate_backend({self.pid})"
        )


async def first_open(connection: AsyncConnection) -> int:
    """Return the number below which every transaction of our database has ended."""
    foreign = await foreign_transactions(connection)
    return int((await connection.execute(_FIRST, {"foreign": list(foreign)})).scalar_one())


async def next_transaction(connection: AsyncConnection) -> int:
    """Return a number that no finished transaction of this server has reached."""
    return int((await connection.execute(_NEXT)).scalar_one())


async def foreign_transactions(connection: AsyncConnection, *, known: Collection[int] = ()) -> frozenset[int]:
    """Return the open transactions of other databases on the server, among them those of `known` that are still open.

    A transaction never changes its database, so the answer stays true however old it gets. Transactions that started
    since are missing from it; readers wait for those as for our own.
    """
    rows = await connection.execute(_OPEN_FOREIGN, {"known": list(known)})
    return frozenset(rows.scalars())


async def long_transactions(connection: AsyncConnection, *, seconds: float) -> list[LongTransaction]:
    """Return the transactions of our database that have been open for so long and may still write, oldest first.

    Those whose start our role may not see come last, however new they are.
    """
    rows = (await connection.execute(_LONG, {"seconds": seconds})).all()
    return [LongTransaction(row.xid, row.pid, row.name or "", row.since) for row in rows]
