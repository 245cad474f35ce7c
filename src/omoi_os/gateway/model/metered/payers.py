"""Payers: whom a model call is charged to."""

from dataclasses import dataclass
from typing import Protocol
from uuid import UUID

from sqlalchemy.ext.asyncio import AsyncSession

from omoi_os.sandboxes import metering, reservations
from omoi_os.sandboxes.reservations import Busy, Estimate, Refused, Reserved


class Payer(Protocol):
    """What a model call is made for. It has the budget, and the usage is recorded there."""

    @property
    def name(self) -> str:
        """Return the name for log messages, such as `sandbox omoios-1a2b3c4d-5e6f70`."""

    @property
    def title(self) -> str:
        """Return the title of the work. The scripted model chooses its script by title and description."""

    @property
    def description(self) -> str:
        """Return the description of the work."""

    @property
    def user_id(self) -> UUID:
        """Return the person whose credential applies."""

    @property
    def model(self) -> str | None:
        """Return the model that was chosen when the work started; None if none was."""

    async def reserve(
        self, session: AsyncSession, estimate: Estimate, *, gateway_id: UUID
    ) -> Reserved | Refused | Busy:
        """Reserve the estimated cost of one call from the budget."""

    async def add_usage(self, session: AsyncSession, *, tokens: int, cost_usd: float, simulated: bool) -> None:
        """Record what one call used. `simulated`: the scripted model answered it."""


@dataclass(frozen=True, slots=True)
class SandboxPayer:
    """A sandbox: the budget of its task or spec covers all sandboxes of that task or spec."""

    sandbox_id: str
    title: str
    description: str
    user_id: UUID
    model: str | None

    @property
    def name(self) -> str:
        """Return the sandbox's name for log messages."""
        return f"sandbox {self.sandbox_id}"

    async def reserve(
        self, session: AsyncSession, estimate: Estimate, *, gateway_id: UUID
    ) -> Reserved | Refused | Busy:
        """Reserve the estimated cost from the budget of the sandbox's task or spec."""
        return await reservations.reserve(session, self.sandbox_id, estimate, gateway_id=gateway_id)

    async def add_usage(self, session: AsyncSession, *, tokens: int, cost_usd: float, simulated: bool) -> None:
        """Record the usage for the sandbox and for its task, if it has one."""
        await metering.add_usage(session, self.sandbox_id, tokens=tokens, cost_usd=cost_usd, simulated=simulated)
