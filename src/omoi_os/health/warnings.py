"""Warnings of the platform: any process reports a condition, `/ready`, the overview and the page show it.

A warning disappears when its reporter clears it, or when nobody confirms it for `STALE`.
"""

from datetime import datetime, timedelta

from pydantic import AwareDatetime, BaseModel, Field
from sqlalchemy import case, delete, select
from sqlalchemy.dialects.postgresql import insert
from sqlalchemy.ext.asyncio import AsyncSession

from omoi_os.health.models import PlatformWarning

#: A warning that was not confirmed for this long is no longer shown. Confirm every minute or so.
STALE = timedelta(minutes=5)

#: The condition that the disk of the data folder is full or almost so.
DISK_SPACE = "disk_space"

#: The maximum length of a message.
MAX_MESSAGE = 1000


class WarningOut(BaseModel):
    """A condition of the platform that needs attention; the API still serves."""

    key: str = Field(description="The kind of condition, e.g. `orchestrator_failing` or `disk_full`.")
    message: str = Field(description="One sentence: what is wrong, with what, and what to do.")
    since: AwareDatetime = Field(description="When the condition was first reported.")


async def report(session: AsyncSession, *, key: str, source: str, message: str, now: datetime) -> None:
    """Report a condition, or confirm one that was reported before. The caller commits.

    `key` names the condition, `source` the reporter: each reporter's warning is kept and cleared by itself.
    """
    row = {"key": key, "source": source, "message": message[:MAX_MESSAGE], "since": now, "updated_at": now}
    new = insert(PlatformWarning).values(row)
    await session.execute(
        new.on_conflict_do_update(
            index_elements=[PlatformWarning.key, PlatformWarning.source],
            set_={
                "message": new.excluded.message,
                "updated_at": new.excluded.updated_at,
                # A stale condition counts as new.
                "since": case(
                    (PlatformWarning.updated_at > now - STALE, PlatformWarning.since), else_=new.excluded.since
                ),
            },
        )
    )


async def clear(session: AsyncSession, *, key: str, source: str) -> None:
    """Clear a reporter's warning. Clearing one that was never reported succeeds. The caller commits."""
    await session.execute(delete(PlatformWarning).where(PlatformWarning.key == key, PlatformWarning.source == source))


async def sources(session: AsyncSession, *, key: str) -> list[str]:
    """Return the reporters that have not cleared this condition."""
    query = select(PlatformWarning.source).where(PlatformWarning.key == key)
    return list((await session.execute(query)).scalars())


async def current(session: AsyncSession, *, now: datetime) -> list[WarningOut]:
    """Return every warning that is not stale, oldest first; the same sentence of several reporters is listed once."""
    query = select(PlatformWarning).where(PlatformWarning.updated_at > now - STALE)
    rows = (await session.execute(query.order_by(PlatformWarning.since, PlatformWarning.key))).scalars()
    shown: dict[tuple[str, str], WarningOut] = {}
    for row in rows:
        shown.setdefault((row.key, row.message), WarningOut(key=row.key, message=row.message, since=row.since))
    return list(shown.values())


async def delete_stale(session: AsyncSession, *, now: datetime) -> None:
    """Delete stale rows, whose reporters are gone."""
    await session.execute(delete(PlatformWarning).where(PlatformWarning.updated_at <= now - STALE))
