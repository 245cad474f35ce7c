"""Reconcile: compares the rows with what the provider really has, both ways, and acts on every difference."""

import asyncio
from datetime import timedelta
from functools import partial

from sqlalchemy.ext.asyncio import AsyncSession

from omoi_os.errors import SandboxGone
from omoi_os.orchestrator.context import Context
from omoi_os.orchestrator.dispatcher import record_started
from omoi_os.orchestrator.endings import GONE, GRACE, STOPPED_TASK_OVER, settle, stop
from omoi_os.orchestrator.presence import is_present
from omoi_os.providers.base import SandboxRef
from omoi_os.sandboxes import repository as sandboxes_repository
from omoi_os.sandboxes import service as sandboxes
from omoi_os.sandboxes.lifecycle import ALIVE, Purpose, SandboxState
from omoi_os.sandboxes.models import Sandbox
from omoi_os.tasks.lifecycle import TERMINAL, TaskState
from omoi_os.tasks.models import Task

#: How long one look at a living sandbox lasts before it is renewed.
WATCH = timedelta(seconds=60)


async def reconcile(context: Context) -> None:
    """One comparison. Every act is a job of its own, so that a slow one holds up nothing.

    Rows are read before the provider is asked: what has a row that says it runs must then be in the list.
    """
    known: set[str] = set()
    free: list[Sandbox] = []
    async with context.sessions() as session, session.begin():
        for row in await sandboxes_repository.alive(session, site=context.site):
            task = await session.get_one(Task, row.task_id)
            await _stop_what_is_over(session, context, row, task)
            known.add(row.id)
            if not await _in_hands(session, context, row, task):
                free.append(row)
    present = {str(ref): ref async for ref in context.provider.list(owner=context.site)}
    for row in free:
        _act(context, row, present.get(row.id))
    for name in present.keys() - known:
        if await _is_left_over(context, name):
            context.jobs.start(f"remove {name}", partial(context.provider.destroy, present[name]))


async def _stop_what_is_over(session: AsyncSession, context: Context, row: Sandbox, task: Task) -> None:
    """Ask for the stop of a sandbox that nobody needs. A worker whose task is completed may finish by itself first."""
    superseded = row.purpose == Purpose.WORK and row.fence != task.fence
    over = task.status in TERMINAL
    if task.status == TaskState.COMPLETED and row.last_work_at is not None:
        over = row.last_work_at < context.now() - GRACE
    if over or superseded:
        await sandboxes.request_stop(session, context.bus, row, reason=STOPPED_TASK_OVER, now=context.now())


async def _in_hands(session: AsyncSession, context: Context, row: Sandbox, task: Task) -> bool:
    """Whether an orchestrator that lives is making or using this sandbox right now."""
    if context.jobs.running(f"spawn {row.id}"):
        return True
    verifying = row.purpose == Purpose.VERIFY and row.status != SandboxState.STOPPING
    if not verifying and row.status != SandboxState.CREATING:
        return False
    if task.lease_owner is None or task.lease_expires_at is None or task.lease_expires_at <= context.now():
        return False
    if task.fence != row.fence:
        return False
    if task.lease_owner == context.owner:
        return verifying and context.jobs.running(f"verify {task.id}")
    return await is_present(session, task.lease_owner)


def _act(context: Context, row: Sandbox, ref: SandboxRef | None) -> None:
    """Start what this difference asks for; a job of the same name that is under way already does it."""
    if ref is None:
        context.jobs.start(f"end {row.id}", partial(settle, context, row.id, None, GONE))
    elif row.status == SandboxState.STOPPING or row.purpose == Purpose.VERIFY:
        context.jobs.start(f"end {row.id}", partial(stop, context, row.id, ref))
    else:
        if row.provider_ref is None:
            context.jobs.start(f"adopt {row.id}", partial(record_started, context, row.id, ref))
        context.jobs.start(f"watch {row.id}", partial(_watch, context, row.id, ref))


async def _watch(context: Context, sandbox_id: str, ref: SandboxRef) -> None:
    """Wait for a sandbox to end, then do what follows."""
    try:
        while True:
            report = await context.provider.inspect(ref, wait=WATCH)
            if not report.alive:
                break
            # One that is still being made answers at once, as it cannot be waited for yet.
            await asyncio.sleep(0.1)
    except SandboxGone:
        report = GONE
    await settle(context, sandbox_id, ref, report)


async def _is_left_over(context: Context, sandbox_id: str) -> bool:
    """Whether a sandbox at the provider belongs to a row that has ended, or to none at all."""
    async with context.sessions() as session:
        row = await sandboxes_repository.get(session, sandbox_id)
        return row is None or row.status not in ALIVE
