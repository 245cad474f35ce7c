"""Reap: stops sandboxes that are silent, stuck, idle or too old, and notes what the living ones use."""

import logging
from datetime import datetime, timedelta
from functools import partial

from omoi_os.errors import ProviderError
from omoi_os.orchestrator.context import Context
from omoi_os.providers.base import SandboxRef, SandboxReport
from omoi_os.sandboxes import gaps
from omoi_os.sandboxes import repository as sandboxes_repository
from omoi_os.sandboxes import service as sandboxes
from omoi_os.sandboxes.lifecycle import Purpose, SandboxState, StopCause
from omoi_os.sandboxes.models import Sandbox
from omoi_os.tasks.lifecycle import TaskState
from omoi_os.tasks.models import Task

log = logging.getLogger(__name__)

#: How often a silent sandbox is asked about.
LISTEN_SECONDS = 10.0
#: How often providers are asked what their sandboxes use.
USAGE_SECONDS = 15.0
#: The provider ends a sandbox at its lifetime; this much later we do.
LIFETIME_SLACK = timedelta(minutes=2)


async def reap(context: Context) -> None:
    """Look at every living sandbox's own columns; nothing here grows with history."""
    now = context.now()
    async with context.sessions() as session, session.begin():
        for provider in context.providers:
            for row in await sandboxes_repository.alive(session, provider=provider.name, site=provider.site):
                task = await session.get_one(Task, row.task_id)
                reason = overdue(context, row, task, now=now)
                if reason is not None:
                    await sandboxes.request_stop(session, context.bus, row, cause=StopCause.REAPED, reason=reason)
                elif is_silent(context, row, now=now) and context.watch.is_due(
                    f"listen {row.id}", every=LISTEN_SECONDS
                ):
                    context.jobs.start(f"listen {row.id}", partial(_listen, context, row))
    await _flag_gaps(context)
    if context.watch.is_due("usage", every=USAGE_SECONDS):
        context.jobs.start("usage", partial(_note_usage, context))


async def _flag_gaps(context: Context) -> None:
    """Tell of sandboxes that have left one of their events out for too long."""
    async with context.sessions() as session, session.begin():
        for sandbox_id in await gaps.flag(session, now=context.now(), masker=context.masker):
            log.warning("sandbox %s has left out one of its events; nothing beyond it is stored", sandbox_id)


def overdue(context: Context, row: Sandbox, task: Task, *, now: datetime) -> str | None:
    """Why a sandbox is to be stopped although its provider says that it lives, or None."""
    if row.status != SandboxState.RUNNING:
        return None
    settings = context.settings
    if now - row.created_at > timedelta(seconds=settings.sandbox_lifetime_seconds) + LIFETIME_SLACK:
        return f"older than its lifetime of {settings.sandbox_lifetime_seconds} s"
    if row.purpose != Purpose.WORK:
        return None
    idle = now - max(row.last_work_at or row.created_at, row.started_at or row.created_at)
    if task.status == TaskState.RUNNING and idle > timedelta(seconds=settings.stuck_after_seconds):
        return f"stuck: it said it worked, but did nothing for {idle.total_seconds():.0f} s"
    if task.status != TaskState.RUNNING and idle > timedelta(seconds=settings.idle_after_seconds):
        return f"idle for {idle.total_seconds():.0f} s"
    return None


def is_silent(context: Context, row: Sandbox, *, now: datetime) -> bool:
    """Whether nothing was heard of a working sandbox for too long."""
    heard = max(row.last_heartbeat_at or row.created_at, row.last_work_at or row.created_at, row.created_at)
    silent = now - heard > timedelta(seconds=context.settings.dead_after_seconds)
    return silent and row.purpose == Purpose.WORK and row.status == SandboxState.RUNNING


async def _listen(context: Context, row: Sandbox) -> None:
    """A sandbox is silent: it is dead unless the API could not hear it or its provider says that it lives."""
    if await context.watch.api_heard_for(context.settings.effective_api_url) < context.settings.dead_after_seconds:
        return
    try:
        alive = (await context.providers.get(row.provider).inspect(SandboxRef(row.door))).alive
    except ProviderError as error:
        log.warning("sandbox %s is silent, and its provider does not say that it lives: %s", row.id, error)
        alive = False
    if not alive:
        async with context.sessions() as session, session.begin():
            reason = f"no sign of life for {context.settings.dead_after_seconds:g} s"
            await sandboxes.request_stop(session, context.bus, row, cause=StopCause.SILENT, reason=reason)


async def _note_usage(context: Context) -> None:
    """Write down what each living sandbox uses."""
    for provider in context.providers:
        async with context.sessions() as session:
            rows = await sandboxes_repository.alive(session, provider=provider.name, site=provider.site)
        for row in rows:
            try:
                report = await provider.inspect(SandboxRef(row.door))
            except ProviderError:
                continue
            await _store_usage(context, row, report)


async def _store_usage(context: Context, row: Sandbox, report: SandboxReport) -> None:
    async with context.sessions() as session, session.begin():
        sandbox = await sandboxes_repository.lock(session, row.id)
        sandbox.memory_bytes, sandbox.cpu_seconds = report.memory_bytes, report.cpu_seconds
        sandbox.disk_bytes, sandbox.pids = report.disk_bytes, report.pids
