"""The overview as the API shows it."""

import datetime

from pydantic import AwareDatetime, BaseModel, ConfigDict, Field

from omoi_os.health.warnings import WarningOut
from omoi_os.sandboxes.lifecycle import SandboxState
from omoi_os.tasks.lifecycle import TaskState
from omoi_os.tasks.outcomes import Outcome


class QueueOut(BaseModel):
    """What is to be done and being done."""

    by_status: dict[TaskState, int] = Field(description="Open tasks by state; every open state is named.")
    oldest_pending_seconds: float | None = Field(description="How long the oldest pending task waits; null if none.")


class SandboxesOut(BaseModel):
    """Sandboxes by state."""

    by_status: dict[SandboxState, int] = Field(
        description="Those alive, and of those begun in the last `days` days the ended ones; every state is named."
    )
    days: int


class DayOut(BaseModel):
    """One day in UTC."""

    date: datetime.date
    completed: int = Field(description="Tasks that were completed on this day, verified or unchecked.")
    failed: int = Field(description="Tasks that failed on this day.")
    outcomes: dict[Outcome, int] = Field(
        description="Tasks that ended on this day by outcome: verified, unchecked, failed, no_result."
    )
    cost_usd: float = Field(description="What the sandboxes that were begun on this day have spent.")
    simulated_cost_usd: float = Field(
        description="The part of `cost_usd` that the scripted model was charged: nobody paid it."
    )
    cost_simulated: bool = Field(description="Whether a part of the cost is simulated.")
    tokens: int


class LimitsOut(BaseModel):
    """How a provider limits each resource of a sandbox."""

    model_config = ConfigDict(from_attributes=True)

    memory: str = Field(description="How memory is limited, or that it is not.")
    cpu: str = Field(description="How processor time is limited, or that it is not.")
    pids: str = Field(description="How the number of processes is limited, or that it is not.")
    disk: str = Field(description="How disk space is limited, or that it is not.")


class ProviderOut(BaseModel):
    """What makes sandboxes."""

    name: str
    default: bool = Field(description="Whether projects that choose none use it.")
    available: bool = Field(description="Whether it can make sandboxes, as the API's own machine sees it.")
    reason: str | None = Field(description="Why it is not available; told to administrators.")
    limits: LimitsOut | None = Field(description="How it limits sandboxes; null when it is not available.")
    alive: int = Field(description="Its living sandboxes that you may see.")


class VersionsOut(BaseModel):
    """What this platform is made of."""

    omoi: str
    postgres: str
    agent_sdk: str | None
    agent_cli: str | None
    model: str = Field(description="The model that agents use; `scripted` when a script plays its part.")


class ProcessOut(BaseModel):
    """A part of the platform that is at work, wherever it runs."""

    name: str
    since: AwareDatetime


class OverviewOut(BaseModel):
    """What goes on, of what you may see."""

    generated_at: AwareDatetime
    queue: QueueOut
    sandboxes: SandboxesOut
    days: list[DayOut] = Field(description="The last days, oldest first; today is the last one.")
    providers: list[ProviderOut]
    versions: VersionsOut
    processes: list[ProcessOut]
    warnings: list[WarningOut] = Field(description="Conditions of the platform that need attention, oldest first.")
