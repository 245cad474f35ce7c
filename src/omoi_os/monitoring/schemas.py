"""Response bodies for the overview."""

import datetime

from pydantic import AwareDatetime, BaseModel, ConfigDict, Field

from omoi_os.health.warnings import WarningOut
from omoi_os.sandboxes.lifecycle import SandboxState
from omoi_os.tasks.lifecycle import TaskState
from omoi_os.tasks.outcomes import Outcome


class QueueOut(BaseModel):
    """The queue of open tasks."""

    by_status: dict[TaskState, int] = Field(description="Number of open tasks in each open state, zeros included.")
    oldest_pending_seconds: float | None = Field(
        description="How long the oldest pending task has been waiting; null if none is pending."
    )


class SandboxesOut(BaseModel):
    """Numbers of sandboxes by state."""

    by_status: dict[SandboxState, int] = Field(
        description="Sandboxes that exist now, plus those created in the last `days` days that have ended, by state."
    )
    days: int = Field(description="How many days ended sandboxes are counted for, today included.")


class DayOut(BaseModel):
    """Figures of one day in UTC."""

    date: datetime.date = Field(description="The day.")
    completed: int = Field(description="Number of tasks that were completed on this day, verified or unchecked.")
    failed: int = Field(description="Number of tasks that failed on this day.")
    outcomes: dict[Outcome, int] = Field(description="Number of tasks that ended on this day with each outcome.")
    cost_usd: float = Field(
        description="What the sandboxes created on this day have spent on model calls, in US dollars."
    )
    simulated_cost_usd: float = Field(
        description="The part of `cost_usd` that is simulated: calls of the scripted model, which nobody pays."
    )
    cost_simulated: bool = Field(description="Whether a part of `cost_usd` is simulated.")
    tokens: int = Field(description="How many tokens the sandboxes created on this day have used.")


class LimitsOut(BaseModel):
    """How a provider limits each resource of a sandbox."""

    model_config = ConfigDict(from_attributes=True)

    memory: str = Field(description="How memory is limited, or that it is not.")
    cpu: str = Field(description="How processor time is limited, or that it is not.")
    pids: str = Field(description="How the number of processes is limited, or that it is not.")
    disk: str = Field(description="How disk space is limited, or that it is not.")


class ProviderOut(BaseModel):
    """A provider of sandboxes."""

    name: str = Field(description="Name of the provider, such as `local` or `docker`.")
    default: bool = Field(description="Whether projects use this provider unless their settings name another.")
    available: bool = Field(description="Whether the provider can create sandboxes from the API's machine.")
    reason: str | None = Field(description="Why the provider is not available; shown to administrators only.")
    limits: LimitsOut | None = Field(description="How it limits resources; null if it is not available.")
    alive: int = Field(description="Number of its sandboxes that exist now and that you may see.")


class VersionsOut(BaseModel):
    """Versions of the platform and its main components."""

    omoi: str = Field(description="Version of OmoiOS.")
    postgres: str = Field(description="Version of the PostgreSQL server.")
    agent_sdk: str | None = Field(description="Version of the agent's SDK; null if it is not installed here.")
    agent_cli: str | None = Field(description="Version of the agent's command-line program; null if unknown.")
    model: str = Field(description="The model that agents use; `scripted` is the built-in scripted model.")


class ProcessOut(BaseModel):
    """A running process of the platform, on any machine."""

    name: str = Field(description="What the process is, such as `orchestrator`.")
    since: AwareDatetime = Field(description="When it connected to the database.")


class OverviewOut(BaseModel):
    """Overview of the platform, limited to the projects you may see."""

    generated_at: AwareDatetime = Field(description="When the overview was computed.")
    queue: QueueOut = Field(description="Open tasks.")
    sandboxes: SandboxesOut = Field(description="Sandboxes by state.")
    days: list[DayOut] = Field(description="Figures of the last days, oldest first; the last one is today.")
    providers: list[ProviderOut] = Field(description="The default provider and every provider with sandboxes.")
    versions: VersionsOut = Field(description="Versions of OmoiOS, PostgreSQL and the agent.")
    processes: list[ProcessOut] = Field(description="The orchestrators that are running.")
    warnings: list[WarningOut] = Field(description="Conditions of the platform that need attention, oldest first.")
