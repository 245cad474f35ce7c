"""Endings: what follows when a sandbox is over. Nothing it still had to say is lost, and its task goes on."""

import contextlib
import logging
from datetime import timedelta

from sqlalchemy.ext.asyncio import AsyncSession

from omoi_os.errors import Invalid, ProviderError, StaleFence, TooLarge
from omoi_os.orchestrator.context import Context
from omoi_os.protocol.events import blob_digests
from omoi_os.protocol.paths import BLOBS, PID_FILE, SPOOL
from omoi_os.protocol.spool import read_frames
from omoi_os.providers.base import EndReason, SandboxRef, SandboxReport
from omoi_os.sandboxes import blobs
from omoi_os.sandboxes import repository as sandboxes_repository
from omoi_os.sandboxes import service as sandboxes
from omoi_os.sandboxes.intake import take_spool
from omoi_os.sandboxes.lifecycle import ENDED, Purpose, SandboxState
from omoi_os.sandboxes.metering import Allowance
from omoi_os.sandboxes.models import Sandbox
from omoi_os.tasks import repository as tasks_repository
from omoi_os.tasks import service as tasks
from omoi_os.tasks.lifecycle import TaskState
from omoi_os.tasks.models import Task

log = logging.getLogger(__name__)

#: How long a worker may take to save its work when it is asked to stop.
GRACE = timedelta(seconds=20)

#: The platform's own reasons to stop a sandbox; any other is a person's.
STOPPED_WITH_PLATFORM = "the platform was stopped"
STOPPED_TASK_OVER = "its task is over"

GONE = SandboxReport(alive=False, reason=EndReason.UNKNOWN)


async def stop(context: Context, sandbox_id: str, ref: SandboxRef) -> None:
    """Ask the worker to save its work, wait for it a little, then end the sandbox."""
    report = await context.provider.inspect(ref)
    if report.alive:
        try:
            script = f'kill -TERM "$(cat {PID_FILE})"'
            await context.provider.exec(ref, ["/bin/sh", "-c", script], timeout=timedelta(seconds=5))
            report = await context.provider.inspect(ref, wait=GRACE)
        except (ProviderError, TimeoutError) as error:
            log.warning("sandbox %s could not be asked to stop: %s", sandbox_id, error)
    await settle(context, sandbox_id, ref, report)


async def settle(context: Context, sandbox_id: str, ref: SandboxRef | None, report: SandboxReport) -> None:
    """Take what is left in its spool, close its row, move its task on, and remove it. Can be repeated at any point."""
    if ref is not None:
        await _salvage_spool(context, sandbox_id, ref)
    async with context.sessions() as session, session.begin():
        sandbox = await sandboxes_repository.lock(session, sandbox_id)
        if sandbox.status not in ENDED:
            task = await tasks_repository.lock(session, sandbox.task_id)
            await _close(session, context, sandbox, task, report)
    if ref is not None:
        await context.provider.destroy(ref)


async def _salvage_spool(context: Context, sandbox_id: str, ref: SandboxRef) -> None:
    """Store what a worker wrote down but could not send any more, with the large values that its events name."""
    try:
        frames = read_frames(await context.provider.read_file(ref, SPOOL))
    except (FileNotFoundError, ProviderError):
        return
    async with context.sessions() as session:
        sandbox = await sandboxes_repository.get(session, sandbox_id)
    acked = sandbox.acked_seq if sandbox else 0
    left = [event for event in frames if isinstance(event.seq, int) and event.seq > acked]
    named = [digest for event in left for digest in blob_digests(event.event_data)]
    contents = {digest: await _read_blob(context, ref, digest) for digest in named}
    try:
        async with context.sessions() as session, session.begin():
            sandbox = await sandboxes_repository.lock(session, sandbox_id)
            for digest, content in contents.items():
                if content is not None:
                    with contextlib.suppress(TooLarge):
                        await blobs.store(session, sandbox, digest, blobs.masked(content, context.masker))
            await take_spool(session, context.bus, sandbox, left, now=context.now(), masker=context.masker)
    except StaleFence:
        log.info("sandbox %s has ended or was superseded; the rest of its spool has no effect", sandbox_id)


async def _read_blob(context: Context, ref: SandboxRef, digest: str) -> bytes | None:
    """A large value that waits in the sandbox; None when it was put already or is not what its name says."""
    try:
        content = await context.provider.read_file(ref, f"{BLOBS}/{digest}")
        blobs.check(digest, content)
    except (FileNotFoundError, ProviderError, Invalid):
        return None
    return content


async def _close(session: AsyncSession, context: Context, sandbox: Sandbox, task: Task, report: SandboxReport) -> None:
    now, bus = context.now(), context.bus
    current = sandbox.purpose == Purpose.WORK and task.fence == sandbox.fence
    done = current and task.status in (TaskState.VERIFYING, TaskState.COMPLETED)
    state, reason = _outcome(sandbox, report, done=done)
    asked = sandbox.end_reason if sandbox.status == SandboxState.STOPPING else None
    await sandboxes.end(session, bus, sandbox, state=state, reason=reason, now=now)
    if not current or task.status not in (TaskState.ASSIGNED, TaskState.RUNNING):
        return
    allowance = Allowance(budget_usd=sandbox.budget_usd, spent_usd=task.cost_usd, refusal=sandbox.refusal)
    if final := allowance.why_not():
        await tasks.fail(session, bus, task, reason=final, now=now)
    elif asked == STOPPED_WITH_PLATFORM:
        await tasks.requeue(session, bus, task, reason=asked)
    elif asked not in (None, STOPPED_TASK_OVER):
        await tasks.fail(session, bus, task, reason=f"its sandbox was {asked}; retry the task to go on", now=now)
    else:
        await tasks.give_back(session, bus, task, reason=reason, backoff=context.backoff, now=now)


def _outcome(sandbox: Sandbox, report: SandboxReport, *, done: bool) -> tuple[SandboxState, str]:
    """How a sandbox ended, as a state and a sentence."""
    if done:
        return SandboxState.STOPPED, "its work is done"
    if sandbox.status == SandboxState.STOPPING or sandbox.purpose == Purpose.VERIFY:
        return SandboxState.STOPPED, sandbox.end_reason or "no longer needed"
    if sandbox.failure:
        return SandboxState.FAILED, sandbox.failure
    if report.reason == EndReason.OUT_OF_MEMORY:
        return SandboxState.LOST, "the sandbox ran out of memory: raise SANDBOX_MEMORY_GB or ask for less"
    if report.reason == EndReason.LIFETIME:
        return SandboxState.LOST, "the sandbox reached the end of its lifetime (SANDBOX_LIFETIME_SECONDS)"
    if report.reason == EndReason.SIGNALLED:
        return SandboxState.LOST, f"the worker was killed by signal {report.signal}"
    if report.reason == EndReason.EXITED:
        return SandboxState.LOST, f"the worker ended with exit code {report.exit_code} before its work was done"
    return SandboxState.LOST, "the sandbox disappeared"
