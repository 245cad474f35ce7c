"""Retention: what ended sandboxes said is removed when it is older than its project, or the installation, keeps it."""

from datetime import datetime

from sqlalchemy import delete, func, select
from sqlalchemy.ext.asyncio import AsyncSession

from omoi_os.projects.models import Project
from omoi_os.sandboxes.models import Sandbox, SandboxBlob, SandboxEvent, SandboxMessage, Transcript
from omoi_os.tasks.lifecycle import TERMINAL
from omoi_os.tasks.models import Task


async def prune_one(session: AsyncSession, *, now: datetime, default_days: int | None) -> str | None:
    """Remove what one sandbox left, and return its id; None when nothing is old enough.

    Its row stays, with its cost and how it ended. A sandbox that lives, or whose task is still open, keeps everything.
    """
    days = func.coalesce(Project.settings["retention_days"].as_integer(), default_days)
    query = (
        select(Sandbox)
        .join(Project, Project.id == Sandbox.project_id)
        .join(Task, Task.id == Sandbox.task_id)
        .where(
            Sandbox.pruned_at.is_(None),
            Sandbox.ended_at.is_not(None),
            Sandbox.ended_at < now - func.make_interval(0, 0, 0, days),
            Task.status.in_(TERMINAL),
        )
        .limit(1)
        .with_for_update(of=Sandbox, skip_locked=True)
    )
    sandbox = (await session.execute(query)).scalar_one_or_none()
    if sandbox is None:
        return None
    for table in (SandboxEvent, SandboxBlob, SandboxMessage, Transcript):
        await session.execute(delete(table).where(table.sandbox_id == sandbox.id))
    sandbox.pruned_at, sandbox.event_counts = now, {}
    await session.flush()
    return sandbox.id
