"""What happens to sandboxes. Each function is one step in one transaction; the caller commits."""

from collections.abc import Mapping
from dataclasses import dataclass
from datetime import datetime
from types import MappingProxyType
from typing import Any

from sqlalchemy.ext.asyncio import AsyncSession

from omoi_os.bus.base import Bus, Topic
from omoi_os.errors import BadToken, StaleFence
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

UNKNOWN_TOKEN = "this sandbox token is not known"  # noqa: S105  a sentence, not a token


@dataclass(frozen=True, slots=True)
class Warm:
    """A sandbox of the warm pool: the id that it was created with, and its provider's name for it."""

    id: str
    provider_ref: str


@dataclass(frozen=True, slots=True)
class Origin:
    """Who makes a sandbox, where, and with what model and budget."""

    provider: str
    site: str
    model: str | None
    budget_usd: float | None
    #: The warm sandbox that becomes this one.
    warm: Warm | None = None
    #: Earlier sandboxes of the task whose uncommitted work is not saved: this one starts without it.
    unsaved_work_of: tuple[str, ...] = ()


async def identify(session: AsyncSession, token: str, *, saving: bool = False) -> Sandbox:
    """The sandbox that a token belongs to. `BadToken` if unknown, `StaleFence` if its attempt has ended.

    With `saving`, an ended one whose work is being salvaged is let in as well.
    """
    sandbox = await repository.by_token_hash(session, token_hash(token))
    if sandbox is None:
        raise BadToken(UNKNOWN_TOKEN)
    if sandbox.status in ENDED and not (saving and await repository.may_save(session, sandbox.id)):
        raise StaleFence(f"sandbox {sandbox.id} has ended ({sandbox.end_reason}); its token opens nothing any more")
    return sandbox


async def open_sandbox(
    session: AsyncSession, bus: Bus, task: Task, *, purpose: Purpose, origin: Origin, now: datetime
) -> tuple[Sandbox, str]:
    """Write the row of a sandbox that is about to be made, and return it with its token, of which only a hash is kept.

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
    await _tell(session, bus, sandbox)
    return sandbox, token


async def mark_started(
    session: AsyncSession,
    bus: Bus,
    sandbox: Sandbox,
    *,
    provider_ref: str,
    now: datetime,
    told: Mapping[str, Any] = MappingProxyType({}),
) -> None:
    """Record that the provider has created it; `told` is what else its event says. The caller holds the row."""
    sandbox.provider_ref = provider_ref
    if await repository.newest_event(session, sandbox.id, event_types=[EventType.SANDBOX_STARTED]) is None:
        data = {"provider": sandbox.provider, **told}
        append_platform_event(session, sandbox, EventType.SANDBOX_STARTED, data, now=now)
    await mark_running(session, bus, sandbox, now=now)


async def mark_running(session: AsyncSession, bus: Bus, sandbox: Sandbox, *, now: datetime) -> None:
    """It shows a sign of life. The caller holds the row."""
    if sandbox.status == SandboxState.CREATING:
        _move(sandbox, SandboxState.RUNNING)
        sandbox.started_at = now
        await _tell(session, bus, sandbox)


async def request_stop(session: AsyncSession, bus: Bus, sandbox: Sandbox, *, cause: StopCause, reason: str) -> Sandbox:
    """Ask for a sandbox to be stopped; the orchestrator does it. Asking twice, or too late, changes nothing."""
    sandbox = await repository.lock(session, sandbox.id)
    if sandbox.status in ALIVE and sandbox.status != SandboxState.STOPPING:
        _move(sandbox, SandboxState.STOPPING)
        sandbox.stop_cause, sandbox.end_reason = cause, reason
        await _tell(session, bus, sandbox)
    return sandbox


async def renew_token(session: AsyncSession, sandbox: Sandbox) -> str:
    """A new token for a sandbox whose worker is dead, so that what it left can be saved. The caller holds the row."""
    token = new_token("sbx")
    sandbox.token_hash = token_hash(token)
    await session.flush()
    return token


async def end(
    session: AsyncSession, bus: Bus, sandbox: Sandbox, *, state: SandboxState, reason: str, now: datetime
) -> None:
    """It is over; from now on its token is stale. The caller holds the row."""
    _move(sandbox, state)
    sandbox.end_reason = sandbox.end_reason or reason
    sandbox.ended_at = now
    event_type = EventType.SANDBOX_LOST if state == SandboxState.LOST else EventType.SANDBOX_TERMINATED
    append_platform_event(session, sandbox, event_type, {"status": state, "reason": sandbox.end_reason}, now=now)
    await _tell(session, bus, sandbox)


async def record_verdict(session: AsyncSession, bus: Bus, sandbox: Sandbox, verdict: str | None) -> None:
    """Store the verdict on what was made or checked in a sandbox. The caller holds the row.

    An attempt is judged by its own verdict, whatever becomes of its task later.
    """
    sandbox.verdict = verdict
    await _tell(session, bus, sandbox)


async def _tell(session: AsyncSession, bus: Bus, sandbox: Sandbox) -> None:
    """Its state is new: people see it, and whoever waits for sandboxes is woken."""
    data = {
        "task_id": str(sandbox.task_id),
        "purpose": sandbox.purpose,
        "attempt": sandbox.attempt,
        "status": sandbox.status,
        "end_reason": sandbox.end_reason,
    }
    publish(session, Change.SANDBOX_STATUS, data, project_id=sandbox.project_id, sandbox_id=sandbox.id)
    await bus.announce(session, Topic.SANDBOXES, sandbox.id)


def _move(sandbox: Sandbox, target: SandboxState) -> None:
    """The one place where a sandbox's state changes; the row is locked by the caller."""
    lifecycle.check(SandboxState(sandbox.status), target)
    sandbox.status = target
