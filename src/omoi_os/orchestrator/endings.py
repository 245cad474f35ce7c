"""Endings: what follows when a sandbox is over. Nothing it still had to say is lost, and its task goes on."""

import json
import logging
import signal
from collections.abc import Mapping
from datetime import timedelta

from sqlalchemy.ext.asyncio import AsyncSession

from omoi_os.errors import ProviderError
from omoi_os.orchestrator import causes, space
from omoi_os.orchestrator.assignments import Work, work_environment
from omoi_os.orchestrator.context import Context
from omoi_os.orchestrator.spools import read_spool
from omoi_os.projects.models import Project
from omoi_os.protocol.events import EventType
from omoi_os.providers.base import EndReason, SandboxRef, SandboxReport
from omoi_os.sandboxes import repository as sandboxes_repository
from omoi_os.sandboxes import service as sandboxes
from omoi_os.sandboxes.lifecycle import ENDED, Purpose, SandboxState, StopCause
from omoi_os.sandboxes.metering import Allowance
from omoi_os.sandboxes.models import Sandbox
from omoi_os.tasks import repository as tasks_repository
from omoi_os.tasks import service as tasks
from omoi_os.tasks.lifecycle import EndCause, TaskState
from omoi_os.tasks.models import Task
from omoi_os.tickets.models import Ticket
from omoi_os.worker.command import salvage_argv

log = logging.getLogger(__name__)

#: How long a sandbox may take to save its work: its worker's own time to stop, and then the rescuer's.
SALVAGE_TIMEOUT = timedelta(seconds=45)
#: How long it may take until a sandbox whose worker was stopped counts as ended.
SETTLING = timedelta(seconds=3)
#: How long a worker whose task is completed may take to end by itself.
GRACE = timedelta(seconds=20)

GONE = SandboxReport(alive=False, reason=EndReason.UNKNOWN)

#: Exits with which a worker has saved everything itself: completed, failed, superseded, stopped.
_OWN_EXITS = (0, 1, 3, 128 + signal.SIGTERM)


async def stop(context: Context, row: Sandbox, ref: SandboxRef) -> None:
    """Save its work, end it, and do what follows."""
    provider = context.providers.get(row.provider)
    report = await provider.inspect(ref)
    if row.purpose == Purpose.WORK:
        saved = await _salvage(context, row, ref, environment=None)
        report = await provider.inspect(ref, wait=None if saved else SETTLING)
        if not saved and not report.alive:
            # The end of the worker, which the rescuer asked for, took the rescuer along.
            await _salvage(context, row, ref, environment=None)
    await settle(context, row, ref, report)


async def ended(context: Context, row: Sandbox, ref: SandboxRef, report: SandboxReport) -> None:
    """A sandbox ended by itself: save what its worker could not, then do what follows."""
    saved_itself = report.reason == EndReason.EXITED and report.exit_code in _OWN_EXITS
    if row.purpose == Purpose.WORK and not saved_itself:
        revived = report.reason == EndReason.UNKNOWN
        environment = await _environment_anew(context, row) if revived else None
        await _salvage(context, row, ref, environment=environment)
    await settle(context, row, ref, report)


async def settle(context: Context, row: Sandbox, ref: SandboxRef | None, report: SandboxReport) -> None:
    """Take what is left in its spool, close its row, move its task on, and remove it. Can be repeated at any point."""
    if ref is not None:
        await read_spool(context, row, ref)
    async with context.sessions() as session, session.begin():
        sandbox = await sandboxes_repository.lock(session, row.id)
        if sandbox.status not in ENDED:
            task = await tasks_repository.lock(session, sandbox.task_id)
            await _close(session, context, sandbox, task, report)
    if ref is not None:
        await context.providers.get(row.provider).destroy(ref)


async def _salvage(context: Context, row: Sandbox, ref: SandboxRef, *, environment: Mapping[str, str] | None) -> bool:
    """Run the rescuer inside: it stops a worker that lives, pushes unfinished work, sends transcript and spool.

    Whether everything is safe then.
    """
    provider = context.providers.get(row.provider)
    argv = salvage_argv(provider.runtime.python, provider.runtime.source)
    stdin = json.dumps(dict(environment)).encode() if environment else b""
    try:
        result = await provider.exec(ref, argv, stdin=stdin, timeout=SALVAGE_TIMEOUT)
    except (ProviderError, TimeoutError) as error:
        log.info("the work in sandbox %s could not be saved: %s", row.id, error)
        return False
    said = (result.stdout if result.exit_code == 0 else result.stderr).decode(errors="replace").strip()[-2000:]
    log.info("sandbox %s: saved before its end: %s", row.id, context.masker.mask_text(said))
    return result.exit_code == 0


async def _environment_anew(context: Context, row: Sandbox) -> Mapping[str, str]:
    """The worker's environment with a new token: the first is known to nobody any more."""
    async with context.sessions() as session, session.begin():
        sandbox = await sandboxes_repository.lock(session, row.id)
        task = await session.get_one(Task, sandbox.task_id)
        ticket = await session.get_one(Ticket, task.ticket_id)
        project = await session.get_one(Project, task.project_id)
        token = await sandboxes.renew_token(session, sandbox)
    provider = context.providers.get(row.provider)
    return work_environment(context.settings, Work(task, ticket, project, sandbox, token, provider))


async def _close(session: AsyncSession, context: Context, sandbox: Sandbox, task: Task, report: SandboxReport) -> None:
    now, bus = context.now(), context.bus
    current = sandbox.purpose == Purpose.WORK and task.fence == sandbox.fence
    done = current and task.status in (TaskState.VERIFYING, TaskState.COMPLETED)
    state, reason = _outcome(sandbox, report, done=done)
    await sandboxes.end(session, bus, sandbox, state=state, reason=reason, now=now)
    if not current or task.status not in (TaskState.ASSIGNED, TaskState.RUNNING):
        return
    allowance = Allowance(budget_usd=sandbox.budget_usd, spent_usd=task.cost_usd, refusal=sandbox.refusal)
    if final := allowance.why_not():
        await tasks.fail(session, bus, task, reason=final, now=now)
    elif sandbox.stop_cause == StopCause.PLATFORM_STOPS:
        await tasks.requeue(session, bus, task, reason=sandbox.end_reason or reason)
    elif sandbox.stop_cause == StopCause.PERSON:
        because = f"its sandbox was {sandbox.end_reason}; retry the task to go on"
        await tasks.fail(session, bus, task, reason=because, now=now)
    else:
        because = sandbox.end_reason or reason
        cause = causes.of_end(sandbox, report, failure_type=await _failure_type(session, sandbox))
        if (disk := space.measure(context)).is_full:
            # Nothing works on a full disk; the next attempt is claimed when there is space.
            cause, because = EndCause.PLATFORM, f"{because}; {disk.describe()}"
        await tasks.give_back(session, bus, task, cause=cause, reason=because, backoff=context.backoff, now=now)


async def _failure_type(session: AsyncSession, sandbox: Sandbox) -> str | None:
    """The `error_type` with which its worker gave up, if it did."""
    told = await sandboxes_repository.newest_event(session, sandbox.id, event_types=[EventType.AGENT_FAILED])
    return str(told.event_data.get("error_type")) if told else None


def _outcome(sandbox: Sandbox, report: SandboxReport, *, done: bool) -> tuple[SandboxState, str]:
    """How a sandbox ended, as a state and a sentence."""
    if done:
        return SandboxState.STOPPED, "its work is done"
    if sandbox.stop_cause in (StopCause.REAPED, StopCause.SILENT):
        return SandboxState.LOST, sandbox.end_reason or "it did nothing any more"
    if sandbox.status == SandboxState.STOPPING or sandbox.purpose == Purpose.VERIFY:
        return SandboxState.STOPPED, sandbox.end_reason or "no longer needed"
    if sandbox.failure:
        return SandboxState.FAILED, sandbox.failure
    if EventType.AGENT_COMPLETED in sandbox.event_counts:
        # Its result was judged before the worker was gone, and the task has moved on.
        return SandboxState.STOPPED, "its work is done"
    if report.reason == EndReason.OUT_OF_MEMORY:
        return SandboxState.LOST, "the sandbox ran out of memory: raise SANDBOX_MEMORY_GB or ask for less"
    if report.reason == EndReason.DISK_FULL:
        return SandboxState.LOST, "the sandbox used up its disk: raise SANDBOX_DISK_GB or ask for less"
    if report.reason == EndReason.LIFETIME:
        return SandboxState.LOST, "the sandbox reached the end of its lifetime (SANDBOX_LIFETIME_SECONDS)"
    if report.reason == EndReason.SIGNALLED:
        return SandboxState.LOST, f"the worker was killed by signal {report.signal}"
    if report.reason == EndReason.EXITED:
        return SandboxState.LOST, f"the worker ended with exit code {report.exit_code} before its work was done"
    return SandboxState.LOST, report.detail or "the sandbox disappeared"
