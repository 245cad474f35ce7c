"""Compare the sandbox rows with the sandboxes that each provider has, in both directions, and act on differences."""

import asyncio
import logging
from collections.abc import Sequence
from datetime import timedelta
from functools import partial

from omoi_os.errors import ProviderUnavailable, SandboxGone
from omoi_os.health.orchestrator_presence import is_present
from omoi_os.orchestrator.context import Context
from omoi_os.orchestrator.dispatch import warm_pool as pool
from omoi_os.orchestrator.dispatch.dispatcher import record_started
from omoi_os.orchestrator.dispatch.gateway_folders import remove_gateway_folder
from omoi_os.orchestrator.recovery import sandbox_rows
from omoi_os.orchestrator.recovery.teardown import GONE, GRACE, after_end, finish, stop
from omoi_os.protocol.events import EventType
from omoi_os.providers.base import ListedSandbox, SandboxProvider, SandboxRef
from omoi_os.sandboxes import repository as sandboxes_repository
from omoi_os.sandboxes import service as sandboxes
from omoi_os.sandboxes.lifecycle import Purpose, SandboxState, StopCause
from omoi_os.sandboxes.models import Sandbox
from omoi_os.tasks.lifecycle import TERMINAL, TaskState
from omoi_os.tasks.models import Task

log = logging.getLogger(__name__)

#: The timeout of one wait for a sandbox's end, after which the wait is repeated.
WATCH = timedelta(seconds=60)


async def reconcile(context: Context) -> None:
    """Compare each provider once. Every action is a separate job, so that a slow one delays nothing else."""
    async with context.sessions() as session:
        in_use = await sandboxes_repository.providers_in_use(session)
    for name in {context.settings.sandbox_provider, *in_use, *(provider.name for provider in context.providers)}:
        with context.health.isolated(f"provider {name}"):
            try:
                await _reconcile(context, context.providers.get(name))
            except ProviderUnavailable as error:
                log.warning("%s: %s", name, error)


async def _reconcile(context: Context, provider: SandboxProvider) -> None:
    """Compare one provider's sandboxes with the rows.

    The rows are read before the provider lists: a sandbox that its row calls running must then be in the list.
    """
    free: list[Sandbox] = []
    known_refs: set[str] = set()
    async with context.sessions() as session, session.begin():
        known_ids = await pool.known_ids(session, provider)
    for row, task in await sandbox_rows.alive(context, provider):
        if row.provider_ref is None:
            known_ids.add(row.id)
        else:
            known_refs.add(row.provider_ref)
        with context.health.isolated(f"sandbox {row.id}"):
            current = await _stop_what_is_over(context, row, task)
            if not await _is_in_use(context, current, task):
                free.append(current)
    present = [listed async for listed in provider.list(owner=context.installation)]
    for row in free:
        with context.health.isolated(f"sandbox {row.id}"):
            _act(context, row, await _find(context, row, present))
    for listed in present:
        if listed.ref in known_refs or listed.id in known_ids:
            continue
        with context.health.isolated(f"orphaned sandbox {listed.ref}"):
            if await _is_orphaned(context, provider, listed):
                context.jobs.start(f"remove {listed.ref}", partial(_remove, context, provider, listed))


async def _find(context: Context, row: Sandbox, present: Sequence[ListedSandbox]) -> SandboxRef | None:
    """Return the provider's name of a row's sandbox if the provider has it.

    If its creator crashed before it could record the name, the sandbox is found by its id and the name is recorded.
    """
    if row.provider_ref is not None:
        return next((listed.ref for listed in present if listed.ref == row.provider_ref), None)
    ref = next((listed.ref for listed in present if listed.id == row.id), None)
    if ref is not None:
        async with context.sessions() as session, session.begin():
            await sandboxes_repository.record_ref(session, row.id, ref)
    return ref


async def _stop_what_is_over(context: Context, row: Sandbox, task: Task | None) -> Sandbox:
    """Request the stop of a sandbox whose task no longer needs it, and return its current row.

    A worker whose task is completed has time to exit by itself first.
    """
    if task is None:
        return row
    superseded = row.purpose == Purpose.WORK and row.fence != task.fence
    over = task.status in TERMINAL
    if task.status == TaskState.COMPLETED and row.last_work_at is not None:
        over = row.last_work_at < context.now() - GRACE - timedelta(seconds=task.linger_seconds)
    if row.purpose == Purpose.VERIFY and task.verification_requested_at is not None:
        over = False
    if not over and not superseded:
        return row
    async with context.sessions() as session, session.begin():
        return await sandboxes.request_stop(
            session, context.bus, row, cause=StopCause.TASK_OVER, reason="its task is over"
        )


async def _is_in_use(context: Context, row: Sandbox, task: Task | None) -> bool:
    """Return whether a running orchestrator is creating or using this sandbox right now.

    Only the lease of its task shows that another orchestrator does.
    """
    if context.jobs.running(f"spawn {row.id}"):
        return True
    verifying = row.purpose == Purpose.VERIFY and row.status != SandboxState.STOPPING
    if task is None or (not verifying and row.status != SandboxState.CREATING):
        return False
    if task.lease_owner is None or task.lease_expires_at is None or task.lease_expires_at <= context.now():
        return False
    if task.fence != row.fence:
        return False
    if task.lease_owner == context.owner:
        return verifying and context.jobs.running(f"verify {task.id}")
    async with context.sessions() as session:
        return await is_present(session, task.lease_owner)


def _act(context: Context, row: Sandbox, ref: SandboxRef | None) -> None:
    """Start the job for this difference, unless one of the same name is already running."""
    if ref is None:
        context.jobs.start(f"end {row.id}", partial(finish, context, row, None, GONE))
    elif row.status == SandboxState.STOPPING or row.purpose == Purpose.VERIFY:
        context.jobs.start(f"end {row.id}", partial(stop, context, row, ref))
    else:
        if EventType.SANDBOX_STARTED not in row.event_counts:
            context.jobs.start(f"adopt {row.id}", partial(record_started, context, row.id, ref))
        context.jobs.start(f"watch {row.id}", partial(_watch, context, row, ref))


async def _watch(context: Context, row: Sandbox, ref: SandboxRef) -> None:
    """Wait for a sandbox to end, then tear it down, unless a job already does that."""
    provider = context.providers.get(row.provider)
    try:
        while True:
            report = await provider.inspect(ref, wait=WATCH)
            if not report.alive:
                break
            # A sandbox that is still being created answers at once, because it cannot be waited for yet.
            await asyncio.sleep(0.1)
    except SandboxGone:
        report = GONE
    if not context.jobs.running(f"end {row.id}"):
        await after_end(context, row, ref, report)


async def _remove(context: Context, provider: SandboxProvider, listed: ListedSandbox) -> None:
    await provider.destroy(listed.ref)
    await asyncio.to_thread(remove_gateway_folder, context.settings, listed.id)


async def _is_orphaned(context: Context, provider: SandboxProvider, listed: ListedSandbox) -> bool:
    """Return whether a sandbox at the provider belongs to a row that has ended, or to none at all."""
    async with context.sessions() as session:
        return not await sandboxes_repository.is_wanted(
            session, provider=provider.name, ref=listed.ref, created_as=listed.id
        )
