"""Save the work in a sandbox before it is destroyed; if that fails, keep the disk and retry."""

import json
import logging
from collections.abc import Mapping
from datetime import datetime, timedelta
from enum import Enum, auto
from functools import partial
from uuid import UUID

from sqlalchemy import func, select

from omoi_os.errors import ProviderError, ProviderUnavailable, SandboxGone
from omoi_os.health import warnings
from omoi_os.health.orchestrator_presence import is_present
from omoi_os.orchestrator.context import Context
from omoi_os.orchestrator.dispatch.assignments import Work, work_environment
from omoi_os.orchestrator.recovery import sandbox_rows
from omoi_os.orchestrator.recovery.salvage_summary import summarise
from omoi_os.projects.models import Project
from omoi_os.providers.base import Keeping, SandboxProvider, SandboxRef
from omoi_os.sandboxes import repository as sandboxes_repository
from omoi_os.sandboxes import salvages
from omoi_os.sandboxes import service as sandboxes
from omoi_os.sandboxes.lifecycle import ENDED, UNSAVED, SalvageState
from omoi_os.sandboxes.models import Sandbox, SandboxSalvage
from omoi_os.tasks.models import Task
from omoi_os.tickets.models import Ticket
from omoi_os.worker.command import salvage_argv

log = logging.getLogger(__name__)

#: How long a sandbox may take to save its work: first the worker's time to stop, then the salvage program's.
SALVAGE_TIMEOUT = timedelta(seconds=45)
#: How long an orchestrator may take for a salvage before another may take over: two runs on a busy machine.
LEASE = timedelta(minutes=4)
#: The pause before an orchestrator looks again at a sandbox that another one is salvaging.
PEER_PAUSE_SECONDS = 2.0

#: The warning that work is kept because it could not be saved, and how often it is reported.
WARNING, _WARNING_SOURCE = "unsaved_work", "orchestrators"
WARN_SECONDS = 30.0

_GIB = 1024**3


class Turn(Enum):
    """Which orchestrator may salvage a sandbox."""

    OURS = auto()  #: this one has the lease
    THEIRS = auto()  #: another running orchestrator has the lease
    OVER = auto()  #: the work is saved or given up, or there was nothing to save


async def begin(context: Context, row: Sandbox) -> Turn:
    """Take the lease of a salvage, so that only one orchestrator renews the token and saves the work."""
    async with context.sessions() as session, session.begin():
        sandbox = await sandboxes_repository.lock(session, row.id)
        salvage = await salvages.get(session, row.id)
        now = context.now()
        if salvage is None:
            if sandbox.status in ENDED:
                return Turn.OVER
            salvage = SandboxSalvage(sandbox_id=row.id, state=SalvageState.PENDING, attempts=0, created_at=now)
            session.add(salvage)
        elif salvage.state not in UNSAVED:
            return Turn.OVER
        held = salvage.lease_owner not in (None, context.owner) and (salvage.lease_expires_at or now) > now
        if held and await is_present(session, salvage.lease_owner or 0):
            return Turn.THEIRS
        salvage.lease_owner, salvage.lease_expires_at = context.owner, now + LEASE
        return Turn.OURS


async def run(context: Context, row: Sandbox, ref: SandboxRef, *, renewed: bool) -> str | None:
    """Run the salvage program in the sandbox: stop the worker, push unfinished work, send the transcript and the spool.

    Return why not everything is saved, or None. With `renewed` the program gets a new token and its whole environment,
    because the first token is no longer known or no longer valid. Without a task there is no assignment to send again:
    a sandbox that serves a spec uses the environment that it was started with. Raise `SandboxGone` if the sandbox does
    not exist.
    """
    provider = context.providers.get(row.provider)
    argv = salvage_argv(provider.runtime.python, provider.runtime.source)
    stdin = b""
    if renewed and row.task_id is not None:
        stdin = json.dumps(dict(await _environment(context, row, row.task_id, provider))).encode()
    try:
        result = await provider.exec(ref, argv, stdin=stdin, timeout=SALVAGE_TIMEOUT)
    except SandboxGone:
        raise
    except (ProviderError, TimeoutError) as error:
        return context.masker.mask_text(str(error))
    if result.exit_code == 0:
        log.info("sandbox %s: %s", row.id, summarise(result.stdout))
        return None
    said = context.masker.mask_text(result.stderr.decode(errors="replace").strip())[-2000:]
    return said or f"the salvage program ended with exit code {result.exit_code}"


async def _environment(context: Context, row: Sandbox, task_id: UUID, provider: SandboxProvider) -> Mapping[str, str]:
    """Return the worker's environment with a new token. Only the orchestrator with the lease may create one."""
    async with context.sessions() as session, session.begin():
        sandbox = await sandboxes_repository.lock(session, row.id)
        salvage = await salvages.get(session, row.id)
        if salvage is None or salvage.lease_owner != context.owner:
            raise ProviderUnavailable(f"another orchestrator is salvaging sandbox {row.id}")
        task = await session.get_one(Task, task_id)
        ticket = await session.get_one(Ticket, task.ticket_id)
        project = await session.get_one(Project, task.project_id)
        token = await sandboxes.renew_token(session, sandbox)
    return work_environment(context.settings, Work(task, ticket, project, sandbox, token, provider))


async def note(context: Context, row: Sandbox, problem: str | None) -> None:
    """Record whether saving succeeded, if this orchestrator still has the lease."""
    async with context.sessions() as session, session.begin():
        sandbox = await sandboxes_repository.lock(session, row.id)
        salvage = await salvages.get(session, row.id)
        if salvage is None or salvage.state not in UNSAVED or salvage.lease_owner != context.owner:
            return
        if problem is None:
            await salvages.mark_saved(session, context.bus, sandbox, now=context.now())
            return
        failed = await salvages.mark_failed(session, context.bus, sandbox, error=problem, now=context.now())
        log.warning("sandbox %s: its work could not be saved (try %d): %s", row.id, failed.attempts, problem)


async def give_up(context: Context, sandbox_id: str, *, reason: str) -> None:
    """Drop unsaved work, with an audit entry. The reconciler removes the disk as orphaned."""
    async with context.sessions() as session, session.begin():
        sandbox = await sandboxes_repository.lock(session, sandbox_id)
        salvage = await salvages.get(session, sandbox_id)
        if salvage is None or salvage.state not in UNSAVED:
            return
        await salvages.drop(
            session, context.bus, sandbox, reason=reason, by=None, now=context.now(), masker=context.masker
        )
    log.error("sandbox %s: its unsaved work was given up: %s", sandbox_id, reason)


async def keep(context: Context, row: Sandbox, ref: SandboxRef) -> None:
    """End the processes of a sandbox whose work is not saved, and record the size of its disk."""
    provider = context.providers.get(row.provider)
    size = row.disk_bytes
    if isinstance(provider, Keeping):
        try:
            size = await provider.keep(ref)
        except SandboxGone:
            await give_up(context, row.id, reason="the sandbox no longer exists")
            return
    elif (await provider.inspect(ref)).alive:
        await give_up(context, row.id, reason=f"provider {row.provider} cannot keep the files of stopped sandboxes")
        await provider.destroy(ref)
        return
    async with context.sessions() as session, session.begin():
        if (salvage := await salvages.get(session, row.id)) is not None:
            salvage.disk_bytes = size


async def look_after(context: Context) -> None:
    """Retry the salvages that are due, and give up disks beyond the operator's limits."""
    async with context.sessions() as session:
        query = select(Sandbox.provider).join(SandboxSalvage, SandboxSalvage.sandbox_id == Sandbox.id)
        names = set((await session.execute(query.where(SandboxSalvage.state.in_(UNSAVED)).distinct())).scalars())
    if context.timers.is_due("unsaved work", every=WARN_SECONDS):
        await _warn(context)
    for name in names:
        with context.health.isolated(f"kept work at provider {name}"):
            try:
                await _look_after(context, context.providers.get(name))
            except ProviderUnavailable as error:
                log.warning("provider %s: kept work cannot be saved now: %s", name, error)


async def _warn(context: Context) -> None:
    """Report a warning while work is not saved. All orchestrators share one warning."""
    async with context.sessions() as session, session.begin():
        query = select(func.count(), func.coalesce(func.sum(SandboxSalvage.disk_bytes), 0)).select_from(SandboxSalvage)
        query = query.join(Sandbox, Sandbox.id == SandboxSalvage.sandbox_id)
        query = query.where(SandboxSalvage.state.in_(UNSAVED), Sandbox.status.in_(ENDED))
        count, size = (await session.execute(query)).one()
        if not count:
            await warnings.clear(session, key=WARNING, source=_WARNING_SOURCE)
            return
        message = (
            f"The uncommitted work of {count} ended {'sandbox' if count == 1 else 'sandboxes'} is not saved yet "
            f"({int(size or 0) >> 20} MiB kept); saving is retried. See `salvage` of each sandbox."
        )
        await warnings.report(session, key=WARNING, source=_WARNING_SOURCE, message=message, now=context.now())


async def _look_after(context: Context, provider: SandboxProvider) -> None:
    async with context.sessions() as session:
        kept = await salvages.unsaved(session, provider=provider.name, site=provider.site)
    now = context.now()
    limit = int(context.settings.salvage_keep_gb * _GIB)
    total = sum(salvage.disk_bytes or 0 for _, salvage in kept)
    for row, salvage in kept:
        if context.jobs.running(f"salvage {row.id}"):
            continue
        reason = _beyond_limits(context, salvage, now=now, over=total - limit)
        if reason is not None:
            total -= salvage.disk_bytes or 0
        with context.health.isolated(f"kept work of sandbox {row.id}"):
            await _look_at(context, row, salvage, beyond=reason, now=now)


async def _look_at(
    context: Context, row: Sandbox, salvage: SandboxSalvage, *, beyond: str | None, now: datetime
) -> None:
    if beyond is not None:
        await give_up(context, row.id, reason=beyond)
        return
    if salvage.state == SalvageState.PENDING and (salvage.wait_until or now) <= now:
        await _stop_waiting(context, row)
    if salvage.next_attempt_at is None or salvage.next_attempt_at <= now:
        context.jobs.start(f"salvage {row.id}", partial(_retry, context, row))


def _beyond_limits(context: Context, salvage: SandboxSalvage, *, now: datetime, over: int) -> str | None:
    """Return why kept work is given up now, or None. `over` is by how much all kept disks exceed their limit."""
    hours = context.settings.salvage_keep_hours
    if now - salvage.created_at > timedelta(hours=hours):
        return f"kept for more than {hours:g} hours (OMOI_SALVAGE_KEEP_HOURS)"
    if over > 0 and salvage.disk_bytes:
        return f"kept disks take more than {context.settings.salvage_keep_gb:g} GiB (OMOI_SALVAGE_KEEP_GB)"
    return None


async def _stop_waiting(context: Context, row: Sandbox) -> None:
    async with context.sessions() as session, session.begin():
        sandbox = await sandboxes_repository.lock(session, row.id)
        salvage = await salvages.get(session, row.id)
        if salvage is not None and salvage.state == SalvageState.PENDING:
            await salvages.stop_waiting(session, context.bus, sandbox)


async def _retry(context: Context, row: Sandbox) -> None:
    """Retry the salvage of a sandbox whose row has ended."""
    if await begin(context, row) is not Turn.OURS:
        return
    ref = await sandbox_rows.find_ref(context, row)
    try:
        if ref is None:
            raise SandboxGone(f"sandbox {row.id} does not exist at its provider")
        problem = await run(context, row, ref, renewed=True)
    except SandboxGone:
        await give_up(context, row.id, reason="the sandbox no longer exists")
        return
    await note(context, row, problem)
    if problem is None:
        await context.providers.get(row.provider).destroy(ref)
    else:
        await keep(context, row, ref)
