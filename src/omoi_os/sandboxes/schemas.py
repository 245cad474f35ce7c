"""Request and response bodies for sandboxes and their events."""

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
    """Return the time; None for an implausible one, because events are not ordered by the sandbox's clock."""
    try:
        moment = datetime.fromisoformat(value) if isinstance(value, str) else None
    except ValueError:
        return None
    if moment is None:
        return None
    moment = moment if moment.tzinfo else moment.replace(tzinfo=UTC)
    return moment if _EARLIEST < moment < _LATEST else None


class EventIn(BaseModel):
    """One event as a worker posts it. The token, not the body, identifies the sandbox."""

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

    event_type: EventTypeName = Field(
        description="What happened, such as `agent.tool_use`. Unknown types are stored too."
    )
    event_data: dict[str, Any] = Field(
        {}, description="The details. For known types, known fields must have their documented type."
    )
    source: Annotated[str, StringConstraints(max_length=40, pattern=r"^[a-z_]+$")] = Field(
        EventSource.AGENT, description="Who reports the event: `agent` or `worker`."
    )
    event_id: EventId | None = Field(
        None, description="Your own id for the event; the same id is stored once. One is generated if it is left out."
    )
    seq: int | None = Field(
        None,
        ge=1,
        lt=2**63,
        strict=True,
        description="The worker's own counter, from 1 and without gaps. Heartbeats have none.",
    )
    occurred_at: Annotated[datetime | None, BeforeValidator(_plausible)] = Field(
        None, description="When it happened by the sandbox's clock; implausible times are ignored."
    )

    @model_validator(mode="after")
    def _as_its_type_says(self) -> "EventIn":
        if problem := catalogue.complaint(self.event_type, self.event_data):
            raise ValueError(problem)
        return self

    def event(self) -> Event:
        """Return the event as the platform stores it."""
        occurred_at = self.occurred_at.isoformat() if self.occurred_at else None
        return Event(self.event_type, self.event_data, self.source, self.event_id, self.seq, occurred_at)


class EventBatch(BaseModel):
    """Events in the worker's order. Each is validated by itself: an invalid one does not stop the others."""

    model_config = ConfigDict(
        json_schema_extra={
            "example": {
                "events": [
                    {"event_type": "agent.started", "event_data": {"attempt": 1}, "source": "worker", "seq": 1},
                    {"event_type": "agent.message", "event_data": {"text": "Reading the code.", "turn": 1}, "seq": 2},
                ]
            }
        }
    )

    events: list[SkipValidation[EventIn]] = Field(
        max_length=MAX_BATCH_EVENTS, description="The events in the order of their `seq`."
    )


class EventReceived(Shown):
    """Confirms that one event is stored."""

    status: Literal["received"] = Field("received", description="Always `received`.")
    sandbox_id: str = Field(description="The sandbox that reported the event.")
    event_type: str = Field(description="The type of the event.")
    event_id: str = Field(description="The id of the event, posted or generated.")
    seq: int = Field(description="The event's number in the list of this sandbox's events.")
    timestamp: AwareDatetime = Field(description="When the event was stored.")


class RejectedEvent(BaseModel):
    """An event that was not accepted."""

    seq: int | None = Field(description="The worker's counter of the event; null if it could not be read.")
    reason: str = Field(description="Why the event was not accepted.")


class BatchReceived(BaseModel):
    """The result of posting a batch."""

    accepted: int = Field(description="How many events were stored.")
    duplicates: int = Field(description="How many events had been stored before.")
    rejected: list[RejectedEvent] = Field(description="The events that were not accepted. Do not send them again.")
    last_seq: int = Field(
        description="The highest counter without a gap before it: the worker can delete everything up to here."
    )


class EventOut(BaseModel):
    """One stored event."""

    model_config = ConfigDict(from_attributes=True)

    event_id: str = Field(description="The event's id, unique within the sandbox.")
    seq: int = Field(description="The event's number in this sandbox, from 1 and without gaps.")
    event_type: str = Field(description="What happened, such as `agent.tool_use`.")
    event_data: dict[str, Any] = Field(description="The details of the event.")
    source: str = Field(description="Who reported the event: `agent`, `worker` or `system`.")
    occurred_at: AwareDatetime = Field(description="When it happened by the clock of the source.")
    created_at: AwareDatetime = Field(description="When the event was stored.")

    @computed_field(description="Whether the platform knows this type of event and has validated its details.")  # type: ignore[prop-decorator]
    @property
    def known(self) -> bool:
        """Return whether the type is known; unknown types are stored unchanged."""
        return catalogue.is_known(self.event_type)


class EventPage(Page):
    """Events of a sandbox, ordered by their number."""

    items: list[EventOut] = Field(description="The events on this page.")
    total_count: int = Field(description="How many events match the filter in total.")
    sandbox_id: str = Field(description="The sandbox that the events belong to.")


class HeartbeatSummary(BaseModel):
    """Summary of the heartbeats that a trajectory leaves out."""

    count: int = Field(description="How many heartbeats the sandbox has sent.")
    first: AwareDatetime | None = Field(description="Time of the first heartbeat; null if there is none.")
    last: AwareDatetime | None = Field(description="Time of the last heartbeat; null if there is none.")


class Trajectory(EventPage):
    """Events of a sandbox without its heartbeats."""

    heartbeat_summary: HeartbeatSummary = Field(description="Number and times of the heartbeats that are left out.")


class SalvageOut(BaseModel):
    """State of the work that could not be saved when a sandbox ended."""

    model_config = ConfigDict(from_attributes=True)

    state: SalvageState = Field(
        description="`pending`: saving is retried and the next attempt waits for it; `kept`: saving is retried, but the"
        " next attempt does not wait any longer; `saved`: everything is saved; `dropped`: the work was given up."
    )
    attempts: int = Field(description="How often the platform has tried to save the work.")
    last_error: str | None = Field(description="Why the last try failed; null if none has failed.")
    next_attempt_at: AwareDatetime | None = Field(description="When saving is tried again; null if it is not.")
    wait_until: AwareDatetime | None = Field(
        description="Until when the task's next attempt waits for the work; null if it does not wait."
    )
    disk_bytes: int | None = Field(description="Size in bytes of the disk that is kept; null if it is unknown.")
    created_at: AwareDatetime = Field(description="When the platform first tried to save the work.")
    ended_at: AwareDatetime | None = Field(description="When the work was saved or dropped; null before that.")


class SandboxOut(Shown):
    """A sandbox: one isolated environment for one attempt at a task, for verifying a result, or for a spec's phases."""

    id: str = Field(examples=["omoios-1f0d2b6c-a3b4c5"], description="The sandbox's id.")
    project_id: UUID = Field(description="The project that the sandbox works for.")
    provider: str = Field(description="The provider that created the sandbox, such as `local` or `docker`.")
    provider_ref: str | None = Field(
        description="The provider's own name for the sandbox; null until the provider has created it."
    )
    purpose: Purpose = Field(
        description="`work`: an agent does a task or a spec's phases; `verify`: acceptance commands check a result."
    )
    task_id: UUID | None = Field(
        examples=["01890a5d-ac96-774b-bcce-b302099a8057"],
        description="The task that the sandbox works on; null if it serves a spec.",
    )
    spec_id: UUID | None = Field(
        examples=[None], description="The spec that the sandbox serves; null if it works on a task."
    )
    task_title: str | None = Field(description="The title of the task; null if the sandbox serves a spec.")
    attempt: int = Field(description="The attempt at the task or spec that this sandbox belongs to, from 1.")
    fence: int = Field(
        description="Fencing number of the assignment. A sandbox with a lower number than its task is superseded."
    )
    status: SandboxState = Field(
        description="`creating`, `running` or `stopping` while it exists; then `stopped` (it ended or was stopped), "
        "`failed` (it ended with an error) or `lost` (it disappeared)."
    )
    outcome: Outcome = Field(
        description="The verdict on the result that was produced or checked here, or else how the sandbox ended."
    )
    model: str | None = Field(description="The model that the agent uses; `scripted` is the built-in scripted model.")
    last_heartbeat_at: AwareDatetime | None = Field(description="When the worker last reported that it is alive.")
    last_work_at: AwareDatetime | None = Field(description="When the agent last did something.")
    last_seq: int = Field(description="Number of the sandbox's newest event; 0 if it has none.")
    event_counts: dict[str, int] = Field(description="Number of events of each type.")
    gap_since: AwareDatetime | None = Field(
        description="When a missing event of the worker was noticed; later events are stored once it has arrived."
    )
    end_reason: str | None = Field(description="Why the sandbox ended or is stopping; null before that.")
    memory_bytes: int | None = Field(description="Memory in use when the provider was last asked; null if unknown.")
    cpu_seconds: float | None = Field(description="Processor time used so far; null if unknown.")
    disk_bytes: int | None = Field(description="Disk space in use; null if unknown.")
    pids: int | None = Field(description="Number of processes and threads; null if unknown.")
    cost_usd: float = Field(description="What the sandbox has spent on model calls, in US dollars.")
    simulated_cost_usd: float = Field(
        description="The part of `cost_usd` that is simulated: calls of the scripted model, which nobody pays."
    )
    cost_simulated: bool = Field(description="Whether a part of `cost_usd` is simulated.")
    tokens: int = Field(description="How many tokens the sandbox has used.")
    created_at: AwareDatetime = Field(description="When the sandbox was requested.")
    ended_at: AwareDatetime | None = Field(description="When the sandbox ended; null while it exists.")
    pruned_at: AwareDatetime | None = Field(
        description="When the sandbox's events were deleted because of their age; null if they are kept."
    )
    salvage: SalvageOut | None = Field(
        description="State of the uncommitted work; null if the worker saved everything itself."
    )

    @classmethod
    def of(cls, sandbox: Sandbox, *, task: TaskGlance | None, salvage: SandboxSalvage | None = None) -> "SandboxOut":
        """Return the response for a stored sandbox, its task, if it has one, and its unsaved work."""
        being_checked = task is not None and task.status == TaskState.VERIFYING and task.fence == sandbox.fence
        derived = {
            "task_title": task.title if task else None,
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
    """An ad hoc task: one prompt."""

    model_config = ConfigDict(
        extra="forbid",
        json_schema_extra={
            "example": {
                "project_id": "01890a5d-ac96-774b-bcce-b302099a8057",
                "prompt": "Explain how tests are run here.",
            }
        },
    )

    project_id: UUID = Field(description="The project whose repository the agent gets.")
    prompt: Prose = Field(description="What the agent must do or answer.")
    model: Annotated[Line, StringConstraints(max_length=100)] | None = Field(
        None, description="The model to use; the installation's model if left out."
    )
    budget_usd: Usd | None = Field(
        None,
        description="Maximum amount in US dollars for model calls. The smallest budget of the installation, the "
        "project and this one applies.",
    )

    def ticket(self) -> TicketIn:
        """Return the ticket to create; its title is the first line of the prompt."""
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
    """An ad hoc task that was queued."""

    sandbox_id: str | None = Field(
        description="The task's sandbox; null if no slot became free in time. `GET /tasks/{task_id}` shows it later."
    )
    task_id: UUID = Field(description="The task that was created.")
    ticket_id: UUID = Field(description="The ticket that the task belongs to.")
    status: TaskState = Field(description="The status of the task.")


class SandboxPage(Page):
    """Sandboxes, newest first."""

    items: list[SandboxOut] = Field(description="The sandboxes on this page.")


class HealthOut(Shown):
    """Confirms that this part of the API works."""

    status: Literal["ok"] = Field("ok", description="Always `ok`.")


class BlobStored(BaseModel):
    """Confirms that a blob is stored."""

    sha256: str = Field(description="The SHA-256 of the blob, by which events name it.")
    size: int = Field(description="Size of the blob in bytes.")


class TranscriptStored(BaseModel):
    """Confirms that a part of the transcript is stored."""

    session_id: str = Field(description="The agent's session that the transcript belongs to.")
    size_bytes: int = Field(
        description="How many bytes of the worker's transcript file are stored: the `offset` of the next part."
    )
