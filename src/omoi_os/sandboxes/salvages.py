"""The salvage records of ended sandboxes whose work was not saved: their disks are kept and saving is retried.

Each function is one step in one transaction; the caller commits.
"""

from collections.abc import Collection, Sequence
from datetime import datetime, timedelta
from uuid import UUID

from sqlalchemy import select
from sqlalchemy.ext.asyncio import AsyncSession

from omoi_os.audit import trail
from omoi_os.audit.models import ActorKind, AuditKind
from omoi_os.bus.base import Bus, Topic
from omoi_os.errors import Conflict
from omoi_os.masking import Masker
from omoi_os.sandboxes import repository, service
from omoi_os.sandboxes.lifecycle import ENDED, UNSAVED, SalvageState
from omoi_os.sandboxes.models import Sandbox, SandboxSalvage
from omoi_os.stream.models import Change
from omoi_os.stream.outbox import publish
from omoi_os.tasks.lifecycle import TaskState
from omoi_os.tasks.models import Task

#: The pause before the second try; it doubles with each further one, up to the longest.
FIRST_PAUSE = timedelta(seconds=5)
LONGEST_PAUSE = timedelta(minutes=10)
MAX_ERROR = 2_000


async def get(session: AsyncSession, sandbox_id: str) -> SandboxSalvage | None:
    """Return the salvage record of one sandbox, read again from the database."""
    return await session.get(SandboxSalvage, sandbox_id, populate_existing=True)


async def of(session: AsyncSession, rows: Sequence[Sandbox]) -> dict[str, SandboxSalvage]:
    """Return the salvage records of these sandboxes by sandbox id."""
    query = select(SandboxSalvage).where(SandboxSalvage.sandbox_id.in_([row.id for row in rows]))
    return {row.sandbox_id: row for row in (await session.execute(query)).scalars()}


async def unsaved(session: AsyncSession, *, provider: str, site: str) -> Sequence[tuple[Sandbox, SandboxSalvage]]:
    """Return the ended sandboxes of one provider at one site whose disks are kept, oldest first."""
    query = (
        select(Sandbox, SandboxSalvage)
        .join(SandboxSalvage, SandboxSalvage.sandbox_id == Sandbox.id)
        .where(SandboxSalvage.state.in_(UNSAVED), Sandbox.status.in_(ENDED))
        .where(Sandbox.provider == provider, Sandbox.site == site)
        .order_by(SandboxSalvage.created_at)
    )
    return [(row[0], row[1]) for row in await session.execute(query)]


async def unsaved_of_task(session: AsyncSession, task: Task) -> Sequence[str]:
    """Return the ids of a task's ended sandboxes whose work is not saved."""
    query = (
        select(Sandbox.id)
        .join(SandboxSalvage, SandboxSalvage.sandbox_id == Sandbox.id)
        .where(Sandbox.task_id == task.id, Sandbox.status.in_(ENDED), SandboxSalvage.state.in_(UNSAVED))
        .order_by(Sandbox.created_at)
    )
    return (await session.execute(query)).scalars().all()


async def mark_failed(
    session: AsyncSession, bus: Bus, sandbox: Sandbox, *, error: str, now: datetime
) -> SandboxSalvage:
    """Record that saving failed and when it is retried. The caller has locked the sandbox's row and has the lease."""
    salvage = await _held(session, sandbox)
    salvage.attempts += 1
    salvage.last_error = error.replace("\0", "")[:MAX_ERROR]
    salvage.next_attempt_at = now + min(FIRST_PAUSE * 2 ** min(salvage.attempts - 1, 20), LONGEST_PAUSE)
    salvage.lease_owner = salvage.lease_expires_at = None
    await publish_state(session, bus, sandbox, salvage)
    return salvage


async def mark_saved(session: AsyncSession, bus: Bus, sandbox: Sandbox, *, now: datetime) -> None:
    """Record that everything is saved, and let the next attempt start. The caller has locked the sandbox's row."""
    salvage = await _held(session, sandbox)
    salvage.attempts += 1
    await _close(session, bus, sandbox, salvage, state=SalvageState.SAVED, now=now)


async def stop_waiting(session: AsyncSession, bus: Bus, sandbox: Sandbox) -> None:
    """Let the next attempt start without this work; saving is still retried. The caller has locked the row."""
    salvage = await _held(session, sandbox)
    if salvage.state == SalvageState.PENDING:
        salvage.state = SalvageState.KEPT
        await publish_state(session, bus, sandbox, salvage)


async def retry_now(session: AsyncSession, bus: Bus, sandbox: Sandbox, *, now: datetime) -> SandboxSalvage:
    """Make the next try due now. Raise `Conflict` if nothing is kept."""
    await repository.lock(session, sandbox.id)
    salvage = await _held(session, sandbox)
    salvage.next_attempt_at = now
    await publish_state(session, bus, sandbox, salvage)
    return salvage


async def drop(
    session: AsyncSession, bus: Bus, sandbox: Sandbox, *, reason: str, by: str | None, now: datetime, masker: Masker
) -> SandboxSalvage:
    """Give up unsaved work, with an audit entry; the orchestrator then removes the disk.

    `by` is the person who asked for it; None means that the platform reached a limit. Raise `Conflict` if nothing is
    kept.
    """
    await repository.lock(session, sandbox.id)
    salvage = await _held(session, sandbox)
    detail = f"{reason}; tried {salvage.attempts} times, last error: {salvage.last_error or 'none'}"
    actor = (ActorKind.USER, by) if by else (ActorKind.PLATFORM, "orchestrator")
    entry = trail.Entry(AuditKind.UNSAVED_WORK_DROPPED, actor[1], sandbox.id, detail, actor_kind=actor[0])
    await trail.write(session, entry, masker=masker, now=now, alone=True)
    salvage.last_error = f"given up: {reason}; before that: {salvage.last_error or 'none'}"[:MAX_ERROR]
    await _close(session, bus, sandbox, salvage, state=SalvageState.DROPPED, now=now)
    return salvage


async def _held(session: AsyncSession, sandbox: Sandbox) -> SandboxSalvage:
    salvage = await get(session, sandbox.id)
    if salvage is None or salvage.state not in UNSAVED:
        state = f"its work is {salvage.state}" if salvage else "it is running, or its work was saved when it ended"
        raise Conflict(f"sandbox {sandbox.id} has no unsaved work: {state}")
    return salvage


async def _close(
    session: AsyncSession, bus: Bus, sandbox: Sandbox, salvage: SandboxSalvage, *, state: SalvageState, now: datetime
) -> None:
    salvage.state, salvage.ended_at = state, now
    salvage.next_attempt_at = salvage.lease_owner = salvage.lease_expires_at = None
    if sandbox.task_id is not None:
        await _release_task(session, bus, sandbox.task_id, salvage, now=now)
    await publish_state(session, bus, sandbox, salvage)


async def _release_task(
    session: AsyncSession, bus: Bus, task_id: UUID, salvage: SandboxSalvage, *, now: datetime
) -> None:
    """Let the task's next attempt start if it waits for this salvage."""
    task = await session.get_one(Task, task_id, with_for_update=True, populate_existing=True)
    if task.status == TaskState.PENDING and task.not_before is not None and task.not_before == salvage.wait_until:
        task.not_before = now
        await bus.announce(session, Topic.WORK, "")


async def publish_state(session: AsyncSession, bus: Bus, sandbox: Sandbox, salvage: SandboxSalvage) -> None:
    """Publish the salvage's state to the stream, and wake the gateway and the orchestrators."""
    data = {**service.shown_state(sandbox), "salvage": salvage.state}
    publish(session, Change.SANDBOX_STATUS, data, project_id=sandbox.project_id, sandbox_id=sandbox.id)
    await session.flush()
    await bus.announce(session, Topic.SANDBOXES, sandbox.id)
    await bus.announce(session, Topic.WORK, "")


async def gateway_sockets(session: AsyncSession, *, site: str, sandbox_ids: Collection[str] = ()) -> set[str]:
    """Return the gateway sockets that kept sandboxes of a site need to save their work."""
    query = (
        select(Sandbox.gateway_socket)
        .join(SandboxSalvage, SandboxSalvage.sandbox_id == Sandbox.id)
        .where(SandboxSalvage.state.in_(UNSAVED), Sandbox.site == site)
    )
    if sandbox_ids:
        query = query.where(Sandbox.id.in_(sandbox_ids))
    return set((await session.execute(query)).scalars())
