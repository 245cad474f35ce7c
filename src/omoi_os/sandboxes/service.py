"""Changes the state of sandboxes. Each function runs in the caller's transaction."""

from collections.abc import Mapping
from dataclasses import dataclass
from datetime import datetime
from types import MappingProxyType
from typing import Any

from sqlalchemy.ext.asyncio import AsyncSession

from omoi_os.bus.base import Bus, Topic
from omoi_os.errors import StaleFence, UnknownSandboxToken
from omoi_os.ids import new_token, sandbox_id_for_task, token_hash
from omoi_os.protocol.events import EventType
from omoi_os.sandboxes import lifecycle, repository
from omoi_os.sandboxes.ingest.event_log import append_platform_event
from omoi_os.sandboxes.lifecycle import ALIVE, ENDED, Purpose, SandboxState, StopCause
from omoi_os.sandboxes.messages import service as messages
from omoi_os.sandboxes.models import Sandbox
from omoi_os.stream.models import Change
from omoi_os.stream.outbox import publish
from omoi_os.tasks.models import Task


@dataclass(frozen=True, slots=True)
class Warm:
    """A sandbox of the warm pool: the id that it was created with, and its provider's name for it."""

    id: str
    provider_ref: str


@dataclass(frozen=True, slots=True)
class Origin:
    """The provider, site, model and budget of a new sandbox."""

    provider: str
    site: str
    model: str | None
    budget_usd: float | None
    #: The warm sandbox that becomes this one.
    warm: Warm | None = None
    #: Earlier sandboxes of the task whose uncommitted work is not saved: this one starts without it.
    unsaved_work_of: tuple[str, ...] = ()


async def identify(session: AsyncSession, token: str, *, saving: bool = False) -> Sandbox:
    """Return the sandbox of a token. Raise `BadToken` if it is unknown, `StaleFence` if its attempt has ended.

    With `saving`, accept an ended sandbox whose work is being salvaged.
    """
    sandbox = await repository.by_token_hash(session, token_hash(token))
    if sandbox is None:
        raise UnknownSandboxToken()
    if sandbox.status in ENDED and not (saving and await repository.may_save(session, sandbox.id)):
        raise StaleFence(f"sandbox {sandbox.id} has ended ({sandbox.end_reason}); its token is no longer valid")
    return sandbox


async def open_sandbox(
    session: AsyncSession, bus: Bus, task: Task, *, purpose: Purpose, origin: Origin, now: datetime
) -> tuple[Sandbox, str]:
    """Create the row of a sandbox before it exists, and return it with its token, of which only a hash is stored.

    A work sandbox becomes the task's own: the caller assigns the task to it in the same transaction.
    """
    token = new_token("sbx")
    sandbox_id = sandbox_id_for_task(task.id)
    sandbox = Sandbox(
        id=sandbox_id,
        provider_ref=origin.warm.provider_ref if origin.warm else None,
        gateway_socket=origin.warm.id if origin.warm else sandbox_id,
        project_id=task.project_id,
        task_id=task.id,
        provider=origin.provider,
        site=origin.site,
        purpose=purpose,
        attempt=task.attempt,
        fence=task.fence,
        status=SandboxState.CREATING,
        token_hash=token_hash(token),
        model=origin.model,
        budget_usd=origin.budget_usd,
        last_seq=0,
        acked_seq=0,
        event_counts={},
        event_bytes=0,
        cost_usd=0.0,
        tokens=0,
        created_at=now,
    )
    session.add(sandbox)
    data: dict[str, Any] = {
        "provider": origin.provider,
        "purpose": purpose,
        "attempt": task.attempt,
        "branch_name": task.branch_name,
    }
    if origin.unsaved_work_of:
        data["unsaved_work_of"] = list(origin.unsaved_work_of)
    append_platform_event(session, sandbox, EventType.SANDBOX_CREATED, data, now=now)
    if purpose == Purpose.WORK and task.fence > 1:
        await session.flush()
        await messages.carry_over(session, bus, sandbox, now=now)
    await _publish(session, bus, sandbox)
    return sandbox, token


async def mark_started(
    session: AsyncSession,
    bus: Bus,
    sandbox: Sandbox,
    *,
    provider_ref: str,
    now: datetime,
    details: Mapping[str, Any] = MappingProxyType({}),
) -> None:
    """Record that the provider has created it; `details` are added to its event. The caller holds the row."""
    # The event and the state are stored together, so only a sandbox whose worker was faster may have it already.
    is_new = sandbox.status == SandboxState.CREATING or not await repository.newest_event(
        session, sandbox.id, event_types=[EventType.SANDBOX_STARTED]
    )
    sandbox.provider_ref = provider_ref
    if is_new:
        data = {"provider": sandbox.provider, **details}
        append_platform_event(session, sandbox, EventType.SANDBOX_STARTED, data, now=now)
    await mark_running(session, bus, sandbox, now=now)


async def mark_running(session: AsyncSession, bus: Bus, sandbox: Sandbox, *, now: datetime) -> None:
    """Mark a sandbox as running when its provider or worker reports it. The caller holds the lock on the row."""
    if sandbox.status == SandboxState.CREATING:
        _move(sandbox, SandboxState.RUNNING)
        sandbox.started_at = now
        await _publish(session, bus, sandbox)


async def request_stop(session: AsyncSession, bus: Bus, sandbox: Sandbox, *, cause: StopCause, reason: str) -> Sandbox:
    """Request that the orchestrator stops a sandbox. Can be repeated; does nothing if it has ended."""
    sandbox = await repository.lock(session, sandbox.id)
    if sandbox.status in ALIVE and sandbox.status != SandboxState.STOPPING:
        _move(sandbox, SandboxState.STOPPING)
        sandbox.stop_cause, sandbox.end_reason = cause, reason
        await _publish(session, bus, sandbox)
    return sandbox


async def renew_token(session: AsyncSession, sandbox: Sandbox) -> str:
    """Create a new token for a sandbox whose worker is dead, to salvage its work. The caller holds the lock."""
    token = new_token("sbx")
    sandbox.token_hash = token_hash(token)
    await session.flush()
    return token


async def end(
    session: AsyncSession, bus: Bus, sandbox: Sandbox, *, state: SandboxState, reason: str, now: datetime
) -> None:
    """End a sandbox; its token is stale from now on. The caller holds the lock on the row."""
    _move(sandbox, state)
    sandbox.end_reason = sandbox.end_reason or reason
    sandbox.ended_at = now
    event_type = EventType.SANDBOX_LOST if state == SandboxState.LOST else EventType.SANDBOX_TERMINATED
    append_platform_event(session, sandbox, event_type, {"status": state, "reason": sandbox.end_reason}, now=now)
    await _publish(session, bus, sandbox)


async def record_verdict(session: AsyncSession, bus: Bus, sandbox: Sandbox, verdict: str | None) -> None:
    """Store the verdict on the result that was produced or checked in a sandbox. The caller holds the lock on the row.

    The outcome of an attempt depends on its own verdict, not on what happens to its task later.
    """
    sandbox.verdict = verdict
    await _publish(session, bus, sandbox)


def shown_state(sandbox: Sandbox) -> dict[str, Any]:
    """Return the data of a `sandbox.status` change."""
    return {
        "task_id": str(sandbox.task_id) if sandbox.task_id is not None else None,
        "spec_id": str(sandbox.spec_id) if sandbox.spec_id is not None else None,
        "purpose": sandbox.purpose,
        "attempt": sandbox.attempt,
        "status": sandbox.status,
        "end_reason": sandbox.end_reason,
    }


async def _publish(session: AsyncSession, bus: Bus, sandbox: Sandbox) -> None:
    """Publish the new state, and wake the gateway and long polls; at its end or stop, the orchestrators too."""
    publish(session, Change.SANDBOX_STATUS, shown_state(sandbox), project_id=sandbox.project_id, sandbox_id=sandbox.id)
    await bus.announce(session, Topic.SANDBOXES, sandbox.id)
    if sandbox.status not in (SandboxState.CREATING, SandboxState.RUNNING):
        await bus.announce(session, Topic.WORK, "")


def _move(sandbox: Sandbox, target: SandboxState) -> None:
    """Change the state; nothing else does. The caller holds the lock on the row."""
    lifecycle.check(SandboxState(sandbox.status), target)
    sandbox.status = target
