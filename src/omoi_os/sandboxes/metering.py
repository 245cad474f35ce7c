"""Meter model calls, and decide whether a sandbox may make another one."""

from dataclasses import dataclass

from sqlalchemy import ColumnElement, func, select, update
from sqlalchemy.ext.asyncio import AsyncSession
from sqlalchemy.orm import InstrumentedAttribute, aliased

from omoi_os.sandboxes.models import Sandbox
from omoi_os.tasks.models import Task


@dataclass(frozen=True, slots=True)
class Allowance:
    """A sandbox's budget, which covers all sandboxes of its task or spec, and what was spent of it."""

    budget_usd: float | None
    spent_usd: float
    refusal: str | None
    #: The part of `spent_usd` that is simulated, because the scripted model answered.
    simulated_usd: float = 0.0
    #: The budget is a spec's, not a task's.
    of_spec: bool = False

    def why_not(self) -> str | None:
        """Return the sentence with which a call is refused, or None if it is allowed."""
        if self.refusal is not None:
            return self.refusal
        if self.budget_usd is None or self.spent_usd < self.budget_usd:
            return None
        return self.used_up()

    def used_up(self, *, next_usd: float | None = None) -> str:
        """Return the sentence that the budget is used up or, with `next_usd`, that it does not cover the next call."""
        budget = float("inf") if self.budget_usd is None else self.budget_usd
        return budget_used_up(
            budget, self.spent_usd, simulated_usd=self.simulated_usd, next_usd=next_usd, of_spec=self.of_spec
        )


def budget_used_up(
    budget_usd: float,
    spent_usd: float,
    *,
    simulated_usd: float = 0.0,
    next_usd: float | None = None,
    of_spec: bool = False,
) -> str:
    """Return the sentence that a budget is used up or, with `next_usd`, that it does not cover the next call."""
    spent = f"{_dollars(spent_usd)} spent"
    if simulated_usd:
        spent += ", simulated" if simulated_usd >= spent_usd else f", including {_dollars(simulated_usd)} simulated"
    if next_usd is not None:
        spent += f", and the next model call would cost {_dollars(next_usd)} or more"
    if of_spec:
        return f"The budget of {_dollars(budget_usd)} for this spec is used up ({spent})."
    return (
        f"The budget of {_dollars(budget_usd)} for this task is used up ({spent}): "
        "raise budget_usd on the ticket or project and retry the task."
    )


def spent_on_spec(column: InstrumentedAttribute[float]) -> ColumnElement[float]:
    """Select the sum of a cost column over all sandboxes of the selected sandbox's spec."""
    other = aliased(Sandbox)
    total = func.coalesce(func.sum(getattr(other, column.key)), 0.0)
    return select(total).where(other.spec_id == Sandbox.spec_id).correlate(Sandbox).scalar_subquery()


async def read_allowance(session: AsyncSession, sandbox_id: str) -> Allowance:
    """Return the sandbox's budget and what its task or spec has spent so far."""
    query = (
        select(
            Sandbox.budget_usd,
            func.coalesce(Task.cost_usd, spent_on_spec(Sandbox.cost_usd)),
            Sandbox.refusal,
            func.coalesce(Task.simulated_cost_usd, spent_on_spec(Sandbox.simulated_cost_usd)),
            Task.id.is_(None),
        )
        .outerjoin(Task, Task.id == Sandbox.task_id)
        .where(Sandbox.id == sandbox_id)
    )
    budget, spent, refusal, simulated, of_spec = (await session.execute(query)).one()
    return Allowance(budget_usd=budget, spent_usd=spent, refusal=refusal, simulated_usd=simulated, of_spec=of_spec)


async def add_usage(
    session: AsyncSession, sandbox_id: str, *, tokens: int, cost_usd: float, simulated: bool = False
) -> None:
    """Add one model call to the sandbox and to its task, if it has one; `simulated`: the scripted model answered it."""
    simulated_usd = cost_usd if simulated else 0.0
    # Update the sandbox's row first: ingest locks the two in this order, and another order could deadlock.
    await session.execute(
        update(Sandbox)
        .where(Sandbox.id == sandbox_id)
        .values(
            cost_usd=Sandbox.cost_usd + cost_usd,
            simulated_cost_usd=Sandbox.simulated_cost_usd + simulated_usd,
            tokens=Sandbox.tokens + tokens,
        )
        .execution_options(synchronize_session=False)
    )
    of_sandbox = select(Sandbox.task_id).where(Sandbox.id == sandbox_id).scalar_subquery()
    await session.execute(
        update(Task)
        .where(Task.id == of_sandbox)
        .values(
            cost_usd=Task.cost_usd + cost_usd,
            simulated_cost_usd=Task.simulated_cost_usd + simulated_usd,
            tokens=Task.tokens + tokens,
        )
        .execution_options(synchronize_session=False)
    )


async def store_refusal(session: AsyncSession, sandbox_id: str, sentence: str) -> None:
    """Store why the sandbox gets no further model call. The first reason is kept."""
    await session.execute(
        update(Sandbox)
        .where(Sandbox.id == sandbox_id, Sandbox.refusal.is_(None))
        .values(refusal=sentence)
        .execution_options(synchronize_session=False)
    )


def _dollars(amount: float) -> str:
    """Format an amount with two digits, or with two significant ones if it is below a cent."""
    return f"${amount:.2f}" if amount == 0 or amount >= 0.01 else f"${amount:.2g}"
