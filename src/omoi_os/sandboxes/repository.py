"""Queries on sandboxes and their events."""

import re
from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import Literal
from uuid import UUID

from sqlalchemy import ColumnElement, SQLColumnExpression, Text, UnaryExpression, cast, func, select, tuple_, update
from sqlalchemy.ext.asyncio import AsyncSession

from omoi_os.accounts.models import User
from omoi_os.errors import NotFound
from omoi_os.sandboxes.lifecycle import ALIVE, UNSAVED, Purpose
from omoi_os.sandboxes.models import Sandbox, SandboxEvent, SandboxSalvage, WarmSandbox
from omoi_os.tasks.models import Task
from omoi_os.visibility import visible_to

ID = re.compile(r"[a-z0-9-]{1,100}")


def missing(sandbox_id: str) -> NotFound:
    """Return the error for a sandbox that does not exist or that the caller may not see."""
    return NotFound(f"there is no sandbox {sandbox_id[:100]!r}")


async def get(session: AsyncSession, sandbox_id: str) -> Sandbox | None:
    """Return a sandbox."""
    return await session.get(Sandbox, sandbox_id)


async def get_visible(session: AsyncSession, sandbox_id: str, *, user: User) -> Sandbox | None:
    """Return a sandbox that the user may see."""
    if not ID.fullmatch(sandbox_id):
        return None
    query = select(Sandbox).where(Sandbox.id == sandbox_id, visible_to(user, Sandbox.project_id))
    return (await session.execute(query)).scalar_one_or_none()


async def lock(session: AsyncSession, sandbox_id: str) -> Sandbox:
    """Lock the row of an existing sandbox until the transaction ends, and return it freshly read.

    The advisory lock comes first because waiting for it needs no transaction id. So the ids of the transactions that
    append to one sandbox's events rise with the numbers of those events.
    """
    await session.execute(select(func.pg_advisory_xact_lock(func.hashtextextended(sandbox_id, 0))))
    query = select(Sandbox).where(Sandbox.id == sandbox_id).with_for_update().execution_options(populate_existing=True)
    return (await session.execute(query)).scalar_one()


async def by_token_hash(session: AsyncSession, token_hash: str) -> Sandbox | None:
    """Return the sandbox whose token has this hash."""
    return (await session.execute(select(Sandbox).where(Sandbox.token_hash == token_hash))).scalar_one_or_none()


async def list_sandboxes(
    session: AsyncSession,
    *,
    user: User,
    status: str | None = None,
    task_id: UUID | None = None,
    project_id: UUID | None = None,
    search: str | None = None,
    limit: int,
    cursor: tuple[datetime, str] | None = None,
) -> Sequence[Sandbox]:
    """Return the sandboxes that the user may see, newest first; `cursor` is the last one's (created_at, id).

    `search` matches the start of the id or a part of the task's title.
    """
    query = select(Sandbox).order_by(Sandbox.created_at.desc(), Sandbox.id.desc()).limit(limit)
    conditions: list[ColumnElement[bool]] = [visible_to(user, Sandbox.project_id)]
    if status is not None:
        conditions.append(Sandbox.status == status)
    if task_id is not None:
        conditions.append(Sandbox.task_id == task_id)
    if project_id is not None:
        conditions.append(Sandbox.project_id == project_id)
    if search is not None:
        query = query.outerjoin(Task, Task.id == Sandbox.task_id)
        titled = Task.title.icontains(search, autoescape=True)
        conditions.append(Sandbox.id.startswith(search.lower(), autoescape=True) | titled)
    if cursor is not None:
        conditions.append(tuple_(Sandbox.created_at, Sandbox.id) < cursor)
    return (await session.execute(query.where(*conditions))).scalars().all()


@dataclass(frozen=True, slots=True)
class TaskGlance:
    """The fields of a task that a sandbox's response shows or is derived from."""

    title: str
    status: str
    fence: int


async def glance_at_tasks(session: AsyncSession, rows: Sequence[Sandbox]) -> dict[UUID, TaskGlance]:
    """Return those fields for the tasks of these sandboxes, by task id."""
    task_ids = {row.task_id for row in rows if row.task_id is not None}
    query = select(Task.id, Task.title, Task.status, Task.fence).where(Task.id.in_(task_ids))
    return {row[0]: TaskGlance(row[1], row[2], row[3]) for row in await session.execute(query)}


async def alive(session: AsyncSession, *, provider: str, site: str) -> Sequence[Sandbox]:
    """Return the sandboxes of one provider at one site that have not ended."""
    query = select(Sandbox).where(Sandbox.status.in_(ALIVE), Sandbox.provider == provider, Sandbox.site == site)
    return (await session.execute(query.order_by(Sandbox.created_at))).scalars().all()


async def alive_ids(session: AsyncSession, *, provider: str, site: str) -> Sequence[str]:
    """Return only the ids of the same sandboxes, for when one of the rows cannot be read."""
    query = select(Sandbox.id).where(Sandbox.status.in_(ALIVE), Sandbox.provider == provider, Sandbox.site == site)
    return (await session.execute(query.order_by(Sandbox.id))).scalars().all()


async def alive_with_tasks(
    session: AsyncSession, *, provider: str, site: str, sandbox_id: str | None = None
) -> list[tuple[Sandbox, Task | None]]:
    """Return the same sandboxes, or one of them, each with its task; None for one that serves a spec."""
    query = (
        select(Sandbox, Task)
        .outerjoin(Task, Task.id == Sandbox.task_id)
        .where(Sandbox.status.in_(ALIVE), Sandbox.provider == provider, Sandbox.site == site)
        .order_by(Sandbox.created_at)
    )
    if sandbox_id is not None:
        query = query.where(Sandbox.id == sandbox_id)
    return [(row[0], row[1]) for row in await session.execute(query)]


async def providers_in_use(session: AsyncSession) -> set[str]:
    """Return the providers of the sandboxes that have not ended."""
    query = select(Sandbox.provider).where(Sandbox.status.in_(ALIVE)).distinct()
    return set((await session.execute(query)).scalars())


async def may_save(session: AsyncSession, sandbox_id: str) -> bool:
    """Return whether an orchestrator is salvaging this ended sandbox now, for which its token stays valid."""
    query = select(SandboxSalvage.sandbox_id).where(
        SandboxSalvage.sandbox_id == sandbox_id,
        SandboxSalvage.state.in_(UNSAVED),
        SandboxSalvage.lease_expires_at > func.now(),
    )
    return (await session.execute(query)).first() is not None


async def record_ref(session: AsyncSession, sandbox_id: str, ref: str) -> None:
    """Store the provider's name of a sandbox whose creation was not recorded."""
    unrecorded = (Sandbox.id == sandbox_id, Sandbox.provider_ref.is_(None))
    await session.execute(update(Sandbox).where(*unrecorded).values(provider_ref=ref))


async def is_wanted(session: AsyncSession, *, provider: str, ref: str, created_as: str) -> bool:
    """Return whether a sandbox at a provider has not ended, has unsaved work, or waits for a task.

    `ref` is the provider's name for it and `created_as` the id that it was created with: its row has no `provider_ref`
    until the creation is recorded.
    """
    unrecorded = Sandbox.provider_ref.is_(None) & (Sandbox.id == created_as)
    own = (Sandbox.provider == provider) & ((Sandbox.provider_ref == ref) | unrecorded)
    row = select(Sandbox.id).where(own, Sandbox.status.in_(ALIVE)).exists()
    kept = (
        select(Sandbox.id)
        .join(SandboxSalvage, SandboxSalvage.sandbox_id == Sandbox.id)
        .where(own, SandboxSalvage.state.in_(UNSAVED))
        .exists()
    )
    warm = select(WarmSandbox.id).where(WarmSandbox.id == created_as).exists()
    return bool((await session.execute(select(row | kept | warm))).scalar_one())


def with_same_subject(sandbox: Sandbox) -> ColumnElement[bool]:
    """Match the sandboxes that serve the same task, or the same spec, as this one."""
    if sandbox.task_id is not None:
        return Sandbox.task_id == sandbox.task_id
    return Sandbox.spec_id == sandbox.spec_id


async def of_task(session: AsyncSession, task_id: UUID, *, purpose: Purpose) -> Sequence[Sandbox]:
    """Return the sandboxes of a task with one purpose, oldest first."""
    query = select(Sandbox).where(Sandbox.task_id == task_id, Sandbox.purpose == purpose).order_by(Sandbox.created_at)
    return (await session.execute(query)).scalars().all()


#: How many bytes of events one query returns; a single event may be larger.
PAGE_BYTES = 4 * 1024 * 1024


async def list_events(
    session: AsyncSession,
    sandbox_id: str,
    *,
    event_type: str | None = None,
    without: str | None = None,
    order: Literal["asc", "desc"] = "desc",
    limit: int,
    cursor_seq: int | None = None,
) -> Sequence[SandboxEvent]:
    """Return events of a sandbox by their number: all, those of one type, or those of every other type.

    Return at least one if there is one, and fewer than `limit` if they would exceed `PAGE_BYTES` together.
    """
    page = await page_of_events(
        session,
        sandbox_id,
        event_type=event_type,
        without=without,
        order=order,
        limit=limit,
        cursor_seq=cursor_seq,
    )
    return page[0]


async def page_of_events(
    session: AsyncSession,
    sandbox_id: str,
    *,
    event_type: str | None = None,
    without: str | None = None,
    order: Literal["asc", "desc"] = "desc",
    limit: int,
    cursor_seq: int | None = None,
) -> tuple[Sequence[SandboxEvent], bool]:
    """Return the events that `list_events` returns, and whether more follow."""
    own = SandboxEvent.sandbox_id == sandbox_id
    size = func.octet_length(cast(SandboxEvent.event_data, Text)).label("size")
    found = select(SandboxEvent.seq, size).where(own).limit(limit + 1)
    if event_type is not None:
        found = found.where(SandboxEvent.event_type == event_type)
    if without is not None:
        found = found.where(SandboxEvent.event_type != without)
    if cursor_seq is not None:
        found = found.where(SandboxEvent.seq > cursor_seq if order == "asc" else SandboxEvent.seq < cursor_seq)
    sized = found.order_by(_by_number(SandboxEvent.seq, order)).subquery()
    upto = func.sum(sized.c.size).over(order_by=_by_number(sized.c.seq, order), rows=(None, 0))
    fits = select(sized.c.seq, (upto - sized.c.size).label("before"), func.count().over().label("found")).subquery()
    query = select(SandboxEvent, fits.c.found).join(fits, SandboxEvent.seq == fits.c.seq)
    query = query.where(own, fits.c.before < PAGE_BYTES).order_by(_by_number(SandboxEvent.seq, order)).limit(limit)
    rows = (await session.execute(query)).all()
    return [row[0] for row in rows], bool(rows) and rows[0][1] > len(rows)


def _by_number(seq: SQLColumnExpression[int], order: Literal["asc", "desc"]) -> UnaryExpression[int]:
    return seq.asc() if order == "asc" else seq.desc()


async def newest_event(session: AsyncSession, sandbox_id: str, *, event_types: Sequence[str]) -> SandboxEvent | None:
    """Return the newest event of any of these types."""
    newest = [
        (await list_events(session, sandbox_id, event_type=event_type, limit=1))[:1] for event_type in event_types
    ]
    return max((row for rows in newest for row in rows), key=lambda row: row.seq, default=None)


async def get_event(session: AsyncSession, sandbox_id: str, event_id: str) -> SandboxEvent | None:
    """Return an event of a sandbox by its id."""
    query = select(SandboxEvent).where(SandboxEvent.sandbox_id == sandbox_id, SandboxEvent.event_id == event_id)
    return (await session.execute(query)).scalar_one_or_none()


async def events_with_ids(session: AsyncSession, sandbox_id: str, event_ids: Sequence[str]) -> Sequence[SandboxEvent]:
    """Return the events of a sandbox that have one of these ids."""
    query = select(SandboxEvent).where(SandboxEvent.sandbox_id == sandbox_id, SandboxEvent.event_id.in_(event_ids))
    return (await session.execute(query)).scalars().all()


async def events_with_posted_seqs(
    session: AsyncSession, sandbox: Sandbox, posted_seqs: Sequence[int]
) -> Sequence[SandboxEvent]:
    """Return the events of a sandbox that were posted under one of these numbers."""
    query = select(SandboxEvent).where(
        SandboxEvent.sandbox_id == sandbox.id,
        SandboxEvent.fence == sandbox.fence,
        SandboxEvent.posted_seq.in_(posted_seqs),
    )
    return (await session.execute(query)).scalars().all()
