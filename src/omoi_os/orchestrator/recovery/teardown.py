"""Tear down ended sandboxes: salvage their work, store their last events, close their rows, move their tasks on."""

import asyncio
import logging
from datetime import timedelta

from sqlalchemy.ext.asyncio import AsyncSession

from omoi_os.errors import SandboxGone
from omoi_os.orchestrator.context import Context
from omoi_os.orchestrator.recovery import end_causes, salvage
from omoi_os.orchestrator.recovery.salvage import Turn
from omoi_os.orchestrator.recovery.spools import read_spool
from omoi_os.orchestrator.upkeep import free_space as space
from omoi_os.protocol.events import EventType
from omoi_os.providers.base import EndReason, SandboxRef, SandboxReport
from omoi_os.sandboxes import repository as sandboxes_repository
from omoi_os.sandboxes import salvages
from omoi_os.sandboxes import service as sandboxes
from omoi_os.sandboxes.lifecycle import ENDED, UNSAVED, Purpose, SalvageState, SandboxState, StopCause
from omoi_os.sandboxes.metering import Allowance
from omoi_os.sandboxes.models import Sandbox, SandboxSalvage
from omoi_os.tasks import repository as tasks_repository
from omoi_os.tasks import service as tasks
from omoi_os.tasks.lifecycle import EndCause, TaskState
from omoi_os.tasks.models import Task

log = logging.getLogger(__name__)

#: How long the provider may take to report the end of a sandbox whose worker was stopped.
SETTLING = timedelta(seconds=3)
#: How long a worker whose task is completed may take to exit by itself.
GRACE = timedelta(seconds=20)

GONE = SandboxReport(alive=False, reason=EndReason.UNKNOWN)

#: Exit codes after which nothing is left to save: the work is completed, or a later attempt has taken over. A worker
#: that failed or was stopped saves what it can, but its exit code does not show whether that succeeded.
_NOTHING_LEFT_EXITS = (0, 3)


async def stop(context: Context, row: Sandbox, ref: SandboxRef) -> None:
    """Salvage a sandbox's work, stop it, and finish the teardown."""
    provider = context.providers.get(row.provider)
    report = await provider.inspect(ref)
    if row.purpose == Purpose.WORK:
        turn = await salvage.begin(context, row)
        if turn is Turn.THEIRS:
            await asyncio.sleep(salvage.PEER_PAUSE_SECONDS)
            return
        if turn is Turn.OURS:
            renewed = report.reason == EndReason.UNKNOWN or await _is_superseded(context, row)
            problem = await _salvage(context, row, ref, renewed=renewed)
            report = await provider.inspect(ref, wait=None if problem is None else SETTLING)
            if problem is not None and not report.alive:
                # Stopping the worker ended the sandbox and with it the salvage program; run it again.
                problem = await _salvage(context, row, ref, renewed=renewed)
            await salvage.note(context, row, problem)
    await finish(context, row, ref, report)


async def after_end(context: Context, row: Sandbox, ref: SandboxRef, report: SandboxReport) -> None:
    """Salvage what the worker of an ended sandbox could not save, and finish the teardown."""
    nothing_left = report.reason == EndReason.EXITED and report.exit_code in _NOTHING_LEFT_EXITS
    if row.purpose == Purpose.WORK and not nothing_left:
        turn = await salvage.begin(context, row)
        if turn is Turn.THEIRS:
            await asyncio.sleep(salvage.PEER_PAUSE_SECONDS)
            return
        if turn is Turn.OURS:
            renewed = report.reason == EndReason.UNKNOWN or await _is_superseded(context, row)
            await salvage.note(context, row, await _salvage(context, row, ref, renewed=renewed))
    await finish(context, row, ref, report)


async def _salvage(context: Context, row: Sandbox, ref: SandboxRef, *, renewed: bool) -> str | None:
    try:
        return await salvage.run(context, row, ref, renewed=renewed)
    except SandboxGone:
        await salvage.give_up(context, row.id, reason="the sandbox no longer exists")
        return "the sandbox no longer exists"


async def _is_superseded(context: Context, row: Sandbox) -> bool:
    if row.task_id is None:
        return False
    async with context.sessions() as session:
        return (await session.get_one(Task, row.task_id)).fence != row.fence


async def finish(context: Context, row: Sandbox, ref: SandboxRef | None, report: SandboxReport) -> None:
    """Store the events left in the spool, close the row, move the task on, and destroy the sandbox.

    Every step can be repeated. The disk of a sandbox whose work is not saved is kept.
    """
    if ref is not None:
        await read_spool(context, row, ref)
    elif not report.detail:
        # The provider answered and does not have it. One that did not answer may still have the disk.
        await salvage.give_up(context, row.id, reason="the sandbox no longer exists")
    async with context.sessions() as session, session.begin():
        sandbox = await sandboxes_repository.lock(session, row.id)
        task = await tasks_repository.lock(session, sandbox.task_id) if sandbox.task_id is not None else None
        kept = await _kept(session, sandbox, task, reached=ref is not None)
        if sandbox.status not in ENDED:
            await _close(session, context, sandbox, task, report)
            if kept is not None and task is not None:
                # Submitted work is already on its branch, so the next attempt need not wait.
                waits = not report.detail and EventType.AGENT_COMPLETED not in sandbox.event_counts
                await _wait_for(session, context, task, kept, waits=waits)
    if ref is None:
        return
    if kept is not None:
        await salvage.keep(context, row, ref)
    else:
        await context.providers.get(row.provider).destroy(ref)


async def _kept(session: AsyncSession, sandbox: Sandbox, task: Task | None, *, reached: bool) -> SandboxSalvage | None:
    """Return the salvage record if the disk must be kept: not if the agent never started or the task is completed.

    `reached` means that the spool was read, so that every event of the worker is known.
    """
    found = await salvages.get(session, sandbox.id)
    if found is None or found.state not in UNSAVED:
        return None
    never_started = reached and EventType.AGENT_STARTED not in sandbox.event_counts
    if never_started or (task is not None and task.status == TaskState.COMPLETED):
        await session.delete(found)
        return None
    return found


async def _wait_for(session: AsyncSession, context: Context, task: Task, kept: SandboxSalvage, *, waits: bool) -> None:
    """Postpone the task's next attempt until the work is saved, up to `salvage_wait_seconds`.

    With `waits` false the attempt does not wait: a damaged or unreachable sandbox does not recover within minutes.
    """
    if task.status != TaskState.PENDING:
        return
    if not waits:
        kept.state = SalvageState.KEPT
        return
    now = context.now()
    until = max(task.not_before or now, now + timedelta(seconds=context.settings.salvage_wait_seconds))
    task.not_before = kept.wait_until = until
    wait = context.settings.salvage_wait_seconds
    note = f"its uncommitted work is not saved yet: the next attempt waits up to {wait:g} s for it"
    task.error = f"{task.error}; {note}" if task.error else note
    await session.flush()


async def _close(
    session: AsyncSession, context: Context, sandbox: Sandbox, task: Task | None, report: SandboxReport
) -> None:
    """Close the row of a sandbox, and decide what happens to the task whose current attempt it was."""
    current = task if task is not None and _is_current(sandbox, task) else None
    done = current is not None and current.status in (TaskState.VERIFYING, TaskState.COMPLETED)
    state, reason = _outcome(sandbox, report, done=done)
    await sandboxes.end(session, context.bus, sandbox, state=state, reason=reason, now=context.now())
    if current is not None and current.status in (TaskState.ASSIGNED, TaskState.RUNNING):
        await _move_on(session, context, sandbox, current, report, reason=reason)


def _is_current(sandbox: Sandbox, task: Task) -> bool:
    return sandbox.purpose == Purpose.WORK and task.fence == sandbox.fence


async def _move_on(
    session: AsyncSession, context: Context, sandbox: Sandbox, task: Task, report: SandboxReport, *, reason: str
) -> None:
    """Fail a task whose attempt has ended without a result, or return it to the queue."""
    now, bus = context.now(), context.bus
    allowance = Allowance(
        budget_usd=sandbox.budget_usd,
        spent_usd=task.cost_usd,
        refusal=sandbox.refusal,
        simulated_usd=task.simulated_cost_usd,
    )
    if final := allowance.why_not():
        await tasks.fail(session, bus, task, reason=final, now=now)
    elif sandbox.stop_cause == StopCause.PLATFORM_STOPS:
        await tasks.requeue(session, bus, task, reason=sandbox.end_reason or reason)
    elif sandbox.stop_cause == StopCause.PERSON:
        because = f"its sandbox was {sandbox.end_reason}; retry the task to continue"
        await tasks.fail(session, bus, task, reason=because, now=now)
    else:
        because = sandbox.end_reason or reason
        cause = end_causes.of_end(sandbox, report, failure_type=await _failure_type(session, sandbox))
        if (disk := space.measure(context)).is_full:
            # A full disk fails everything. The next attempt is claimed once there is space.
            cause, because = EndCause.PLATFORM, f"{because}; {disk.describe()}"
        await tasks.give_back(session, bus, task, cause=cause, reason=because, backoff=context.backoff, now=now)


async def _failure_type(session: AsyncSession, sandbox: Sandbox) -> str | None:
    """Return the `error_type` of the worker's last `agent.failed`, if there is one."""
    failed = await sandboxes_repository.newest_event(session, sandbox.id, event_types=[EventType.AGENT_FAILED])
    return str(failed.event_data.get("error_type")) if failed else None


def _outcome(sandbox: Sandbox, report: SandboxReport, *, done: bool) -> tuple[SandboxState, str]:
    """Return how a sandbox ended, as a state and a sentence."""
    if done:
        return SandboxState.STOPPED, "its work is done"
    if sandbox.stop_cause in (StopCause.REAPED, StopCause.SILENT):
        return SandboxState.LOST, sandbox.end_reason or "it stopped working"
    if sandbox.status == SandboxState.STOPPING or sandbox.purpose == Purpose.VERIFY:
        return SandboxState.STOPPED, sandbox.end_reason or "no longer needed"
    if sandbox.failure:
        return SandboxState.FAILED, sandbox.failure
    if EventType.AGENT_COMPLETED in sandbox.event_counts:
        # The result was verified before the worker ended, and the task has moved on.
        return SandboxState.STOPPED, "its work is done"
    if report.reason == EndReason.OUT_OF_MEMORY:
        return SandboxState.LOST, "the sandbox ran out of memory: raise SANDBOX_MEMORY_GB or make the task smaller"
    if report.reason == EndReason.DISK_FULL:
        return SandboxState.LOST, "the sandbox used up its disk: raise SANDBOX_DISK_GB or make the task smaller"
    if report.reason == EndReason.LIFETIME:
        return SandboxState.LOST, "the sandbox reached the end of its lifetime (SANDBOX_LIFETIME_SECONDS)"
    if report.reason == EndReason.SIGNALLED:
        return SandboxState.LOST, f"the worker was killed by signal {report.signal}"
    if report.reason == EndReason.EXITED:
        return SandboxState.LOST, f"the worker ended with exit code {report.exit_code} before its work was done"
    return SandboxState.LOST, report.detail or "the sandbox disappeared"
