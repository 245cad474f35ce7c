"""Sandboxes and their events as the API takes and shows them."""

from datetime import UTC, datetime
from typing import Annotated, Any, Literal
from uuid import UUID

from pydantic import (
    AwareDatetime,
    BaseModel,
    BeforeValidator,
    ConfigDict,
    Field,
    SkipValidation,
    StringConstraints,
    computed_field,
    model_validator,
)

from omoi_os.http.paging import Page
from omoi_os.http.shapes import Shown
from omoi_os.http.text import Line, Prose
from omoi_os.projects.schemas import Usd
from omoi_os.protocol.events import Event, EventSource
from omoi_os.sandboxes.ingest import catalogue
from omoi_os.sandboxes.lifecycle import ALIVE, Purpose, SalvageState, SandboxState
from omoi_os.sandboxes.models import Sandbox, SandboxSalvage
from omoi_os.sandboxes.repository import TaskGlance
from omoi_os.tasks import outcomes
from omoi_os.tasks.lifecycle import TaskState
from omoi_os.tasks.outcomes import Outcome
from omoi_os.tickets.schemas import TicketIn, TicketType

MAX_BATCH_EVENTS = 1000
_EARLIEST, _LATEST = datetime(2000, 1, 1, tzinfo=UTC), datetime(2200, 1, 1, tzinfo=UTC)

EventTypeName = Annotated[
    str, StringConstraints(min_length=1, max_length=100, pattern=r"^[a-z][a-z0-9_]*(\.[a-z][a-z0-9_]*)*$")
]
EventId = Annotated[str, StringConstraints(min_length=1, max_length=100, pattern=r"^[A-Za-z0-9._:-]+$")]


def _plausible(value: object) -> datetime | None:
    """A sandbox's own clock orders nothing, so a time that makes no sense is ignored, not refused."""
    try:
        moment = datetime.fromisoformat(value) if isinstance(value, str) else None
    except ValueError:
        return None
    if moment is None:
        return None
    moment = moment if moment.tzinfo else moment.replace(tzinfo=UTC)
    return moment if _EARLIEST < moment < _LATEST else None


class EventIn(BaseModel):
    """One event as a worker posts it. Who says it is known from the token, not from the body."""

    model_config = ConfigDict(
        json_schema_extra={
            "example": {
                "event_type": "agent.tool_use",
                "event_data": {"tool": "Bash", "tool_use_id": "toolu_1", "input": {"command": "make test"}, "turn": 2},
                "source": "agent",
                "event_id": "018f3c2e-7b1a-7c3d-9a57-3f0d2b6c1e44",
                "seq": 7,
            }
        },
    )

    event_type: EventTypeName
    event_data: dict[str, Any] = {}
    source: Annotated[str, StringConstraints(max_length=40, pattern=r"^[a-z_]+$")] = Field(
        EventSource.AGENT, description="`agent` or `worker`."
    )
    event_id: EventId | None = None
    seq: int | None = Field(None, ge=1, lt=2**63, strict=True, description="The worker's own counter, dense from 1.")
    occurred_at: Annotated[datetime | None, BeforeValidator(_plausible)] = None

    @model_validator(mode="after")
    def _as_its_type_says(self) -> "EventIn":
        if problem := catalogue.complaint(self.event_type, self.event_data):
            raise ValueError(problem)
        return self

    def event(self) -> Event:
        """As the platform passes it on."""
        occurred_at = self.occurred_at.isoformat() if self.occurred_at else None
        return Event(self.event_type, self.event_data, self.source, self.event_id, self.seq, occurred_at)


class EventBatch(BaseModel):
    """Events in the worker's order. Each is judged by itself: a bad one does not stop the others."""

    events: list[SkipValidation[EventIn]] = Field(max_length=MAX_BATCH_EVENTS)


class EventReceived(Shown):
    """One event is stored."""

    status: Literal["received"] = "received"
    sandbox_id: str
    event_type: str
    event_id: str
    seq: int = Field(description="Its number in this sandbox's list.")
    timestamp: AwareDatetime


class RejectedEvent(BaseModel):
    """An event that was not taken, and why."""

    seq: int | None
    reason: str


class BatchReceived(BaseModel):
    """What became of a batch."""

    accepted: int
    duplicates: int
    rejected: list[RejectedEvent]
    last_seq: int = Field(description="The worker's own counter up to which everything is stored.")


class EventOut(BaseModel):
    """One stored event."""

    model_config = ConfigDict(from_attributes=True)

    event_id: str
    seq: int
    event_type: str
    event_data: dict[str, Any]
    source: str
    occurred_at: AwareDatetime
    created_at: AwareDatetime

    @computed_field(description="Whether the platform knows this type of event and has checked what it carries.")  # type: ignore[prop-decorator]
    @property
    def known(self) -> bool:
        """Unknown types are kept as they are."""
        return catalogue.is_known(self.event_type)


class EventPage(Page):
    """A sandbox's events by their number."""

    items: list[EventOut]
    total_count: int = Field(description="How many there are in all that match the filter.")
    sandbox_id: str


class HeartbeatSummary(BaseModel):
    """The heartbeats that a trajectory leaves out."""

    count: int
    first: AwareDatetime | None
    last: AwareDatetime | None


class Trajectory(EventPage):
    """A sandbox's events without its heartbeats."""

    heartbeat_summary: HeartbeatSummary


class SalvageOut(BaseModel):
    """What became of the work in a sandbox that could not be saved when it ended."""

    model_config = ConfigDict(from_attributes=True)

    state: SalvageState = Field(
        description="`pending`: saving is retried and the next attempt waits for it; `kept`: the next attempt no longer"
        " waits, saving is still retried; `saved`: everything is safe; `dropped`: it was given up."
    )
    attempts: int = Field(description="How often saving was tried.")
    last_error: str | None = Field(description="Why the last try failed.")
    next_attempt_at: AwareDatetime | None = Field(description="When saving is tried again.")
    wait_until: AwareDatetime | None = Field(description="Until when the task's next attempt waits for it.")
    disk_bytes: int | None = Field(description="The size of the disk that is kept.")
    created_at: AwareDatetime = Field(description="Since when it is being saved.")
    ended_at: AwareDatetime | None = Field(description="When the work was saved or given up.")


class SandboxOut(Shown):
    """A sandbox: one attempt at a task, or one place to verify it."""

    id: str = Field(examples=["omoios-1f0d2b6c-a3b4c5"])
    project_id: UUID
    provider: str
    provider_ref: str | None
    purpose: Purpose
    task_id: UUID
    task_title: str
    attempt: int
    fence: int
    status: SandboxState
    outcome: Outcome = Field(
        description="What came of it: the verdict on the result that was made or checked here, or how it ended."
    )
    model: str | None = Field(description="The model that its agent uses; `scripted` when a script plays its part.")
    last_heartbeat_at: AwareDatetime | None
    last_work_at: AwareDatetime | None
    last_seq: int
    event_counts: dict[str, int] = Field(description="How many events of each type it has.")
    gap_since: AwareDatetime | None = Field(
        description="Since when one of the worker's events is missing; nothing beyond it is stored until it comes."
    )
    end_reason: str | None
    memory_bytes: int | None = Field(description="What it used when its provider was last asked.")
    cpu_seconds: float | None
    disk_bytes: int | None
    pids: int | None
    cost_usd: float
    simulated_cost_usd: float = Field(
        description="The part of `cost_usd` that the scripted model was charged: nobody paid it."
    )
    cost_simulated: bool = Field(description="Whether a part of its cost is simulated.")
    tokens: int
    created_at: AwareDatetime
    ended_at: AwareDatetime | None
    pruned_at: AwareDatetime | None = Field(description="When its events were removed for their age.")
    salvage: SalvageOut | None = Field(
        description="What became of its uncommitted work; null where its worker saved everything itself."
    )

    @classmethod
    def of(cls, sandbox: Sandbox, *, task: TaskGlance, salvage: SandboxSalvage | None = None) -> "SandboxOut":
        """Show the row with what it is for, what came of it, and what became of its unsaved work."""
        being_checked = task.status == TaskState.VERIFYING and task.fence == sandbox.fence
        derived = {
            "task_title": task.title,
            "outcome": outcomes.of_attempt(
                sandbox.verdict,
                alive=sandbox.status in ALIVE,
                failed=sandbox.status == SandboxState.FAILED,
                being_checked=being_checked,
            ),
            "salvage": salvage,
            "cost_simulated": sandbox.simulated_cost_usd > 0,
        }
        stored = {name: getattr(sandbox, name) for name in cls.model_fields if name not in derived}
        return cls.model_validate(stored | derived)


class SandboxIn(BaseModel):
    """Work without a ticket: one prompt."""

    model_config = ConfigDict(
        extra="forbid",
        json_schema_extra={
            "example": {
                "project_id": "01890a5d-ac96-774b-bcce-b302099a8057",
                "prompt": "Explain how tests are run here.",
            }
        },
    )

    project_id: UUID
    prompt: Prose
    model: Annotated[Line, StringConstraints(max_length=100)] | None = Field(None, description="The platform's own.")
    budget_usd: Usd | None = Field(
        None, description="What it may spend on model calls, within the limits of the project and the installation."
    )

    def ticket(self) -> TicketIn:
        """The ticket that stands for it; its title is the prompt's first line."""
        first = next((line for line in self.prompt.splitlines() if line.strip()), "")
        title = "".join(character if character.isprintable() else " " for character in first).strip()[:100]
        return TicketIn(
            title=title or "Ad hoc work",
            description=self.prompt,
            project_id=self.project_id,
            ticket_type=TicketType.CHORE,
            budget_usd=self.budget_usd,
        )


class SandboxOrdered(BaseModel):
    """An ad hoc task is queued. Its sandbox has an id once there is room for it."""

    sandbox_id: str | None
    task_id: UUID
    ticket_id: UUID
    status: TaskState


class SandboxPage(Page):
    """Sandboxes, newest first."""

    items: list[SandboxOut]


class HealthOut(Shown):
    """This part of the API answers."""

    status: Literal["ok"] = "ok"


class BlobStored(BaseModel):
    """A large value is stored."""

    sha256: str
    size: int


class TranscriptStored(BaseModel):
    """The agent's conversation is stored."""

    session_id: str
    size_bytes: int = Field(description="How much of the worker's file is kept; the next part begins here.")
