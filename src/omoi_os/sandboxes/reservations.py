"""Reserve the estimated cost of model calls, so that parallel calls cannot spend a budget twice."""

from collections.abc import Collection
from dataclasses import dataclass
from datetime import timedelta
from uuid import UUID

from sqlalchemy import delete, func, select, update
from sqlalchemy.ext.asyncio import AsyncSession

from omoi_os.ids import uuid7
from omoi_os.sandboxes.metering import Allowance, read_allowance
from omoi_os.sandboxes.models import ModelReservation, Sandbox
from omoi_os.tasks.models import Task

#: How long a reservation is valid after its gateway last renewed it.
LIFETIME = timedelta(seconds=90)


@dataclass(frozen=True, slots=True)
class Estimate:
    """The estimated cost of one call."""

    #: The highest cost of the input, and its cost for ordinary text.
    input_usd: float
    usual_input_usd: float
    output_token_usd: float
    max_tokens: int
    #: The fewest output tokens with which an answer is useful.
    min_tokens: int


@dataclass(frozen=True, slots=True)
class Reserved:
    """The call may be sent, with at most this many tokens of output."""

    reservation_id: UUID
    max_tokens: int


@dataclass(frozen=True, slots=True)
class Refused:
    """The call does not fit the budget; `sentence` says why."""

    sentence: str


class Busy:
    """The call may fit once other calls of the task or spec are settled."""


@dataclass(frozen=True, slots=True)
class _Account:
    """What a call is charged to, either a task or a spec, and its allowance."""

    task_id: UUID | None
    spec_id: UUID | None
    allowance: Allowance


async def reserve(
    session: AsyncSession, sandbox_id: str, estimate: Estimate, *, gateway_id: UUID
) -> Reserved | Refused | Busy:
    """Reserve the cost of one call.

    While other calls of the task or spec are running, only a call whose whole estimate fits is allowed. A call that is
    alone is allowed while the remaining budget covers its usual input cost and a short answer; its output is capped.
    """
    account = await _lock_task(session, sandbox_id) or await _lock_spec(session, sandbox_id)
    allowance = account.allowance
    if (sentence := allowance.why_not()) is not None:
        return Refused(sentence)
    reserved = await _reserved(session, account)
    limit = float("inf") if allowance.budget_usd is None else allowance.budget_usd
    remaining = limit - allowance.spent_usd - reserved
    amount, max_tokens = estimate.input_usd + estimate.max_tokens * estimate.output_token_usd, estimate.max_tokens
    if amount > remaining:
        if reserved:
            return Busy()
        affordable = _affordable_tokens(estimate, remaining)
        if affordable < estimate.min_tokens:
            return Refused(allowance.used_up(next_usd=_least(estimate)))
        amount, max_tokens = remaining, min(max_tokens, affordable)
    reservation = ModelReservation(
        id=uuid7(),
        task_id=account.task_id,
        spec_id=account.spec_id,
        gateway_id=gateway_id,
        amount_usd=amount,
        expires_at=func.clock_timestamp() + LIFETIME,
    )
    session.add(reservation)
    return Reserved(reservation.id, max_tokens)


async def settle(session: AsyncSession, reservation_id: UUID) -> None:
    """Delete a reservation, in the transaction that adds the call's actual cost."""
    await session.execute(delete(ModelReservation).where(ModelReservation.id == reservation_id))


async def renew(session: AsyncSession, reservation_ids: Collection[UUID]) -> None:
    """Renew the reservations of running calls, and delete expired ones of any gateway."""
    now = func.clock_timestamp()
    await session.execute(
        update(ModelReservation)
        .where(ModelReservation.id.in_(reservation_ids))
        .values(expires_at=now + LIFETIME)
        .execution_options(synchronize_session=False)
    )
    await session.execute(delete(ModelReservation).where(ModelReservation.expires_at < now))


async def _lock_task(session: AsyncSession, sandbox_id: str) -> _Account | None:
    """Lock the task of a sandbox; None if it has none. Gateways must decide about one task one after the other."""
    query = (
        select(Sandbox.budget_usd, Task.cost_usd, Task.simulated_cost_usd, Sandbox.refusal, Task.id)
        .join(Task, Task.id == Sandbox.task_id)
        .where(Sandbox.id == sandbox_id)
        .with_for_update(of=Task, key_share=True)
    )
    row = (await session.execute(query)).one_or_none()
    if row is None:
        return None
    budget, spent, simulated, refusal, task_id = row
    allowance = Allowance(budget_usd=budget, spent_usd=spent, refusal=refusal, simulated_usd=simulated)
    return _Account(task_id, None, allowance)


async def _lock_spec(session: AsyncSession, sandbox_id: str) -> _Account:
    """Lock the row of a sandbox that serves a spec: at most one of a spec's work sandboxes is alive."""
    query = select(Sandbox.spec_id).where(Sandbox.id == sandbox_id).with_for_update(key_share=True)
    spec_id = (await session.execute(query)).scalar_one()
    # Read after the lock: the cost of a call that was settled meanwhile counts.
    return _Account(None, spec_id, await read_allowance(session, sandbox_id))


async def _reserved(session: AsyncSession, account: _Account) -> float:
    if account.task_id is not None:
        same_account = ModelReservation.task_id == account.task_id
    else:
        same_account = ModelReservation.spec_id == account.spec_id
    query = select(func.coalesce(func.sum(ModelReservation.amount_usd), 0.0)).where(
        same_account, ModelReservation.expires_at > func.clock_timestamp()
    )
    return float((await session.execute(query)).scalar_one())


def _affordable_tokens(estimate: Estimate, remaining_usd: float) -> int:
    left = remaining_usd - estimate.usual_input_usd
    if not estimate.output_token_usd:
        return estimate.max_tokens if left >= 0 else 0
    return int(left / estimate.output_token_usd)


def _least(estimate: Estimate) -> float:
    return estimate.usual_input_usd + estimate.min_tokens * estimate.output_token_usd
