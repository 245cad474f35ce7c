"""Stop sandboxes that are silent, stuck, idle or too old, and record the resource usage of the others."""

import asyncio
import contextlib
import logging
import math
from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime, timedelta
from functools import partial

from omoi_os.errors import ProviderError
from omoi_os.orchestrator.context import Context
from omoi_os.orchestrator.recovery import sandbox_rows
from omoi_os.orchestrator.timers import MAX_GAP_SECONDS, api_answers
from omoi_os.protocol.paths import GATEWAY_SOCKET
from omoi_os.providers.base import SandboxRef, SandboxReport
from omoi_os.sandboxes import repository as sandboxes_repository
from omoi_os.sandboxes import service as sandboxes
from omoi_os.sandboxes.ingest import gaps
from omoi_os.sandboxes.lifecycle import Purpose, SandboxState, StopCause
from omoi_os.sandboxes.models import Sandbox
from omoi_os.tasks.lifecycle import TaskState
from omoi_os.tasks.models import Task

log = logging.getLogger(__name__)

#: How often the API is asked whether it answers.
API_SECONDS = 5.0
#: How often the provider is asked about a silent sandbox.
SILENCE_CHECK_SECONDS = 10.0
#: How often providers are asked for the resource usage of their sandboxes.
USAGE_SECONDS = 15.0
#: The provider ends a sandbox at its lifetime. This much later the reaper does.
LIFETIME_SLACK = timedelta(minutes=2)


async def reap(context: Context) -> None:
    """Check every alive sandbox by its own columns, so that the cost does not grow with history."""
    now = context.now()
    if context.timers.is_due("api", every=API_SECONDS):
        context.jobs.start("ask the API", partial(_ask_api, context))
    found = [pair for provider in context.providers for pair in await sandbox_rows.alive(context, provider)]
    ages = ages_of(context, [row for row, _ in found], now=now)
    for row, task in found:
        with context.health.isolated(f"sandbox {row.id}"):
            await _look_at(context, row, task, ages[row.id], now=now)
    with context.health.isolated("looking for gaps in events"):
        await _flag_gaps(context)
    if context.timers.is_due("usage", every=USAGE_SECONDS):
        context.jobs.start("usage", partial(_record_usage, context))


async def _look_at(context: Context, row: Sandbox, task: Task | None, age: "Age", *, now: datetime) -> None:
    reason = overdue(context, row, task, age)
    if reason is not None:
        async with context.sessions() as session, session.begin():
            await sandboxes.request_stop(session, context.bus, row, cause=StopCause.REAPED, reason=reason)
    elif is_silent(context, row, now=now) and context.timers.is_due(f"silent {row.id}", every=SILENCE_CHECK_SECONDS):
        context.jobs.start(f"silent {row.id}", partial(_check_silent, context, row))


async def _flag_gaps(context: Context) -> None:
    """Report sandboxes whose events have had a gap for too long."""
    async with context.sessions() as session, session.begin():
        for sandbox_id in await gaps.flag(session, now=context.now(), masker=context.masker):
            log.warning("sandbox %s has not sent one of its events; later events are not stored", sandbox_id)


@dataclass(frozen=True, slots=True)
class Age:
    """How long ago a sandbox was created and last worked, in seconds."""

    since_created: float
    since_work: float
    #: For how long the API has been reachable without interruption.
    reachable: float = math.inf

    @classmethod
    def at(cls, row: Sandbox, now: datetime) -> "Age":
        """Return the age of a row at a time."""
        return cls((now - row.created_at).total_seconds(), (now - _last_work(row)).total_seconds())

    @property
    def idle(self) -> float:
        """Return how long it has not worked while it could have reported work."""
        return min(self.since_work, self.reachable)


def _last_work(row: Sandbox) -> datetime:
    return max(row.last_work_at or row.created_at, row.started_at or row.created_at)


def ages_of(context: Context, rows: Sequence[Sandbox], *, now: datetime) -> dict[str, Age]:
    """Return each sandbox's age: from the database's clock when it is first seen, then from the monotonic clock."""
    found = {row.id: Age.at(row, now) for row in rows}
    marks = {row.id: f"{row.id} {_last_work(row)}" for row in rows}
    created = context.timers.ages("created", {key: age.since_created for key, age in found.items()})
    worked = context.timers.ages("worked", {marks[key]: age.since_work for key, age in found.items()})
    reachable = context.timers.api_reachable_for(gap=_gap(context))
    return {key: Age(created[key], worked[marks[key]], reachable) for key in found}


def overdue(context: Context, row: Sandbox, task: Task | None, age: Age) -> str | None:
    """Return why a sandbox must be stopped although it is alive, or None.

    The provider ends a sandbox at its lifetime; this covers a provider that did not. A sandbox without a task serves a
    spec and works until it ends.
    """
    if row.status != SandboxState.RUNNING:
        return None
    settings = context.settings
    if row.event_bytes >= settings.sandbox_events_mb << 20:
        return f"its events have reached their quota of {settings.sandbox_events_mb} MB (OMOI_SANDBOX_EVENTS_MB)"
    too_old = age.since_created > settings.sandbox_lifetime_seconds + LIFETIME_SLACK.total_seconds()
    if too_old and age.reachable > LIFETIME_SLACK.total_seconds():
        return f"older than its lifetime of {settings.sandbox_lifetime_seconds} s"
    if row.purpose != Purpose.WORK:
        return None
    works = task is None or task.status == TaskState.RUNNING
    if works and age.idle > settings.stuck_after_seconds:
        return f"stuck: running, but no work for {age.idle:.0f} s"
    if not works and age.idle > settings.idle_after_seconds:
        return f"idle for {age.idle:.0f} s"
    return None


def _gap(context: Context) -> float:
    """Return how far apart two answers of the API may be: it is asked at most once per comparison."""
    return max(MAX_GAP_SECONDS, 3 * context.settings.reconcile_seconds)


async def _ask_api(context: Context) -> None:
    """Record whether workers can report: both the API and the gateway answer."""
    answered = await api_answers(context.settings.effective_api_url) and await _gateway_answers(context)
    context.timers.note_api(answered=answered, gap=_gap(context))


async def _gateway_answers(context: Context) -> bool:
    """Return whether the gateway accepts connections of a sandbox at this site; True if there is none to try."""
    names = [provider.name for provider in context.providers if provider.has_gateway_socket]
    async with context.sessions() as session:
        alive = [
            row
            for name in names
            for row in await sandboxes_repository.alive(session, provider=name, site=context.settings.site)
        ]
    running = next((row for row in alive if row.status == SandboxState.RUNNING), None)
    socket = context.settings.gateway_sockets_dir / running.gateway_socket / GATEWAY_SOCKET if running else None
    if socket is None or not await asyncio.to_thread(socket.parent.exists):
        return True
    try:
        async with asyncio.timeout(2):
            _, writer = await asyncio.open_unix_connection(socket)
    except OSError:
        return False
    writer.close()
    return True


def is_silent(context: Context, row: Sandbox, *, now: datetime) -> bool:
    """Return whether a running work sandbox has sent neither a heartbeat nor work for too long."""
    last_sign = max(row.last_heartbeat_at or row.created_at, row.last_work_at or row.created_at, row.created_at)
    silent = now - last_sign > timedelta(seconds=context.settings.dead_after_seconds)
    return silent and row.purpose == Purpose.WORK and row.status == SandboxState.RUNNING


async def _check_silent(context: Context, row: Sandbox) -> None:
    """Stop a silent sandbox, unless the API was unreachable or its provider reports it alive."""
    await _ask_api(context)
    if context.timers.api_reachable_for(gap=_gap(context)) < context.settings.dead_after_seconds:
        return
    try:
        ref = await sandbox_rows.find_ref(context, row)
        alive = ref is not None and (await context.providers.get(row.provider).inspect(ref)).alive
    except ProviderError as error:
        log.warning("sandbox %s is silent, and its provider does not report it alive: %s", row.id, error)
        alive = False
    if not alive:
        async with context.sessions() as session, session.begin():
            reason = f"no sign of life for {context.settings.dead_after_seconds:g} s"
            await sandboxes.request_stop(session, context.bus, row, cause=StopCause.SILENT, reason=reason)


async def _record_usage(context: Context) -> None:
    """Store the resource usage of each alive sandbox."""
    for provider in context.providers:
        for row, _ in await sandbox_rows.alive(context, provider):
            if row.provider_ref is None:
                continue
            with context.health.isolated(f"usage of sandbox {row.id}"), contextlib.suppress(ProviderError):
                await _store_usage(context, row, await provider.inspect(SandboxRef(row.provider_ref)))


async def _store_usage(context: Context, row: Sandbox, report: SandboxReport) -> None:
    async with context.sessions() as session, session.begin():
        sandbox = await sandboxes_repository.lock(session, row.id)
        sandbox.memory_bytes, sandbox.cpu_seconds = report.memory_bytes, report.cpu_seconds
        sandbox.disk_bytes, sandbox.pids = report.disk_bytes, report.pids
