"""Delete the data of ended sandboxes after the retention of their project or of the installation."""

from collections.abc import Collection
from datetime import datetime

from sqlalchemy import delete, func, or_, select, update
from sqlalchemy.ext.asyncio import AsyncSession

from omoi_os.projects.models import Project
from omoi_os.projects.values import number_in_sql
from omoi_os.sandboxes.models import Sandbox, SandboxBlob, SandboxEvent, SandboxMessage, Transcript
from omoi_os.tasks.lifecycle import TERMINAL
from omoi_os.tasks.models import Task


async def next_to_prune(
    session: AsyncSession, *, now: datetime, default_days: int | None, without: Collection[str] = ()
) -> str | None:
    """Return a sandbox beyond its retention that is not in `without`, or None.

    A sandbox that is alive, or whose task is open, keeps everything; one without a task is kept only while it is alive.
    """
    days = func.coalesce(number_in_sql("retention_days"), default_days)
    query = (
        select(Sandbox.id)
        .join(Project, Project.id == Sandbox.project_id)
        .outerjoin(Task, Task.id == Sandbox.task_id)
        .where(
            Sandbox.pruned_at.is_(None),
            Sandbox.ended_at.is_not(None),
            Sandbox.ended_at < now - func.make_interval(0, 0, 0, days),
            or_(Sandbox.task_id.is_(None), Task.status.in_(TERMINAL)),
            Sandbox.id.not_in(without),
        )
        .limit(1)
        .with_for_update(of=Sandbox, skip_locked=True)
    )
    return (await session.execute(query)).scalar_one_or_none()


async def prune_one(session: AsyncSession, sandbox_id: str, *, now: datetime) -> None:
    """Delete the events, blobs, messages and transcript of one sandbox. Its row stays, with its cost and outcome."""
    for table in (SandboxEvent, SandboxBlob, SandboxMessage, Transcript):
        await session.execute(delete(table).where(table.sandbox_id == sandbox_id))
    pruned: dict[str, object] = {"pruned_at": now, "event_counts": {}, "event_bytes": 0}
    await session.execute(update(Sandbox).where(Sandbox.id == sandbox_id).values(pruned))
