"""Queries on sandboxes and their events."""

import re
from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import Literal
from uuid import UUID

from sqlalchemy import ColumnElement, SQLColumnExpression, Text, UnaryExpression, cast, func, select, tuple_, update
from sqlalchemy.ext.asyncio import AsyncSession

from omoi_os.accounts.models import Role, User
from omoi_os.errors import NotFound
from omoi_os.projects.models import Project
from omoi_os.sandboxes.lifecycle import ALIVE, UNSAVED, Purpose
from omoi_os.sandboxes.models import Sandbox, SandboxEvent, SandboxSalvage, WarmSandbox
from omoi_os.tasks.models import Task

ID = re.compile(r"[a-z0-9-]{1,100}")


def missing(sandbox_id: str) -> NotFound:
    """What everyone is told who asks for a sandbox that is not there or not theirs."""
    return NotFound(f"there is no sandbox {sandbox_id[:100]!r}")


async def get(session: AsyncSession, sandbox_id: str) -> Sandbox | None:
    """One sandbox."""
    return await session.get(Sandbox, sandbox_id)


async def lock(session: AsyncSession, sandbox_id: str) -> Sandbox:
    """One sandbox that exists, freshly read and locked until the transaction ends.

    The advisory lock comes first because it needs no transaction number: whoever waits here has none yet, so the
    numbers of the transactions that add to one sandbox's events rise with the numbers of those events.
    """
    await session.execute(select(func.pg_advisory_xact_lock(func.hashtextextended(sandbox_id, 0))))
    query = select(Sandbox).where(Sandbox.id == sandbox_id).with_for_update().execution_options(populate_existing=True)
    return (await session.execute(query)).scalar_one()


async def by_token_hash(session: AsyncSession, token_hash: str) -> Sandbox | None:
    """The sandbox whose token has this hash."""
    return (await session.execute(select(Sandbox).where(Sandbox.token_hash == token_hash))).scalar_one_or_none()


async def list_sandboxes(
    session: AsyncSession,
    *,
    visible_to: User,
    status: str | None = None,
    task_id: UUID | None = None,
    project_id: UUID | None = None,
    search: str | None = None,
    limit: int,
    cursor: tuple[datetime, str] | None = None,
) -> Sequence[Sandbox]:
    """Newest first, only what the user may see; the cursor is the last one's (created_at, id).

    What is searched for is the beginning of the id, or a part of the task's title.
    """
    query = select(Sandbox).order_by(Sandbox.created_at.desc(), Sandbox.id.desc()).limit(limit)
    conditions: list[ColumnElement[bool]] = []
    if visible_to.role != Role.ADMIN:
        query = query.join(Project, Project.id == Sandbox.project_id)
        conditions.append(Project.created_by == visible_to.id)
    if status is not None:
        conditions.append(Sandbox.status == status)
    if task_id is not None:
        conditions.append(Sandbox.task_id == task_id)
    if project_id is not None:
        conditions.append(Sandbox.project_id == project_id)
    if search is not None:
        query = query.join(Task, Task.id == Sandbox.task_id)
        titled = Task.title.icontains(search, autoescape=True)
        conditions.append(Sandbox.id.startswith(search.lower(), autoescape=True) | titled)
    if cursor is not None:
        conditions.append(tuple_(Sandbox.created_at, Sandbox.id) < cursor)
    return (await session.execute(query.where(*conditions))).scalars().all()


@dataclass(frozen=True, slots=True)
class TaskGlance:
    """What showing a sandbox needs of its task."""

    title: str
    status: str
    fence: int


async def glance_at_tasks(session: AsyncSession, rows: Sequence[Sandbox]) -> dict[UUID, TaskGlance]:
    """Read what is shown of the tasks that these sandboxes are for."""
    query = select(Task.id, Task.title, Task.status, Task.fence).where(Task.id.in_({row.task_id for row in rows}))
    return {row[0]: TaskGlance(row[1], row[2], row[3]) for row in await session.execute(query)}


async def alive(session: AsyncSession, *, provider: str, site: str) -> Sequence[Sandbox]:
    """Every sandbox of one provider at one place that has not ended."""
    query = select(Sandbox).where(Sandbox.status.in_(ALIVE), Sandbox.provider == provider, Sandbox.site == site)
    return (await session.execute(query.order_by(Sandbox.created_at))).scalars().all()


async def alive_ids(session: AsyncSession, *, provider: str, site: str) -> Sequence[str]:
    """The ids of the same sandboxes, for when one of them cannot be read."""
    query = select(Sandbox.id).where(Sandbox.status.in_(ALIVE), Sandbox.provider == provider, Sandbox.site == site)
    return (await session.execute(query.order_by(Sandbox.id))).scalars().all()


async def alive_with_tasks(
    session: AsyncSession, *, provider: str, site: str, sandbox_id: str | None = None
) -> list[tuple[Sandbox, Task]]:
    """The same sandboxes, or one of them, each with its task."""
    query = (
        select(Sandbox, Task)
        .join(Task, Task.id == Sandbox.task_id)
        .where(Sandbox.status.in_(ALIVE), Sandbox.provider == provider, Sandbox.site == site)
        .order_by(Sandbox.created_at)
    )
    if sandbox_id is not None:
        query = query.where(Sandbox.id == sandbox_id)
    return [(row[0], row[1]) for row in await session.execute(query)]


async def providers_in_use(session: AsyncSession) -> set[str]:
    """The providers of the sandboxes that have not ended."""
    query = select(Sandbox.provider).where(Sandbox.status.in_(ALIVE)).distinct()
    return set((await session.execute(query)).scalars())


async def may_save(session: AsyncSession, sandbox_id: str) -> bool:
    """Whether an orchestrator is saving the work of this ended sandbox now: its token is good for that."""
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


async def is_wanted(session: AsyncSession, *, provider: str, ref: str, spec_id: str) -> bool:
    """Return whether a sandbox at a provider has not ended, has unsaved work, or waits for a task.

    `ref` is the provider's name for it and `spec_id` the id that it was created with: its row has no `provider_ref`
    until the creation is recorded.
    """
    unrecorded = Sandbox.provider_ref.is_(None) & (Sandbox.id == spec_id)
    own = (Sandbox.provider == provider) & ((Sandbox.provider_ref == ref) | unrecorded)
    row = select(Sandbox.id).where(own, Sandbox.status.in_(ALIVE)).exists()
    kept = (
        select(Sandbox.id)
        .join(SandboxSalvage, SandboxSalvage.sandbox_id == Sandbox.id)
        .where(own, SandboxSalvage.state.in_(UNSAVED))
        .exists()
    )
    warm = select(WarmSandbox.id).where(WarmSandbox.id == spec_id).exists()
    return bool((await session.execute(select(row | kept | warm))).scalar_one())


async def of_task(session: AsyncSession, task_id: UUID, *, purpose: Purpose) -> Sequence[Sandbox]:
    """A task's sandboxes of one purpose, oldest first."""
    query = select(Sandbox).where(Sandbox.task_id == task_id, Sandbox.purpose == purpose).order_by(Sandbox.created_at)
    return (await session.execute(query)).scalars().all()


#: So many bytes of events are read at once; a single event may be larger.
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
    """A sandbox's events by their number: all, those of one type, or those of every other type.

    At least one is returned if there is one, and fewer than `limit` where they would exceed `PAGE_BYTES` together.
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
    """The events that `list_events` returns, and whether more follow."""
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
    """The newest event of any of these types."""
    newest = [
        (await list_events(session, sandbox_id, event_type=event_type, limit=1))[:1] for event_type in event_types
    ]
    return max((row for rows in newest for row in rows), key=lambda row: row.seq, default=None)


async def get_event(session: AsyncSession, sandbox_id: str, event_id: str) -> SandboxEvent | None:
    """One event of a sandbox by its own id."""
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
