"""Tickets as the API takes and shows them."""

from collections.abc import Sequence
from enum import StrEnum
from typing import Annotated, Literal
from uuid import UUID

from pydantic import AwareDatetime, BaseModel, ConfigDict, Field, computed_field, model_validator

from omoi_os.http.paging import Page
from omoi_os.http.shapes import Shown
from omoi_os.http.text import Command, Described, Line, Text
from omoi_os.projects.schemas import RepositoryName, Usd
from omoi_os.tasks import outcomes
from omoi_os.tasks.lifecycle import ACTIVE
from omoi_os.tasks.outcomes import Outcome
from omoi_os.tasks.schemas import TaskOut
from omoi_os.tickets.models import Ticket, TicketStatus


class Priority(StrEnum):
    """What runs first."""

    LOW = "LOW"
    MEDIUM = "MEDIUM"
    HIGH = "HIGH"
    CRITICAL = "CRITICAL"


class TicketType(StrEnum):
    """What kind of change is wanted; it decides the branch's prefix."""

    FEATURE = "feature"
    BUG = "bug"
    REFACTOR = "refactor"
    DOCS = "docs"
    TEST = "test"
    CHORE = "chore"


class TicketIn(BaseModel):
    """A ticket to create. Give `project_id`, or `github_owner` and `github_repo`."""

    model_config = ConfigDict(
        extra="forbid",
        json_schema_extra={
            "example": {
                "title": "Calculate binomial coefficient",
                "description": "Calculate C(50,25) with a Python program and print the answer.",
                "github_owner": "kivo360",
                "github_repo": "OmoiOS",
                "acceptance": ["python3 binomial.py"],
            }
        },
    )

    title: Line
    description: Text = ""
    project_id: UUID | None = None
    github_owner: RepositoryName | None = None
    github_repo: RepositoryName | None = None
    priority: Priority = Priority.MEDIUM
    ticket_type: TicketType = TicketType.FEATURE
    workflow_mode: Annotated[Literal["quick", "spec_driven"], Described("enum", ("quick",))] = "quick"
    depends_on: list[UUID] = Field([], max_length=100, description="Tickets of the same project that come first.")
    acceptance: list[Command] = Field([], max_length=50, description="Shell commands that must pass.")
    budget_usd: Usd | None = Field(
        None,
        description="What each of its tasks may spend on model calls, within the limits of project and installation.",
    )

    @model_validator(mode="after")
    def _belongs_together(self) -> "TicketIn":
        by_name = (self.github_owner, self.github_repo)
        if self.project_id is None and None in by_name:
            raise ValueError("give project_id, or github_owner and github_repo")
        if self.project_id is not None and by_name != (None, None):
            raise ValueError("give project_id, or github_owner and github_repo, not both")
        if self.workflow_mode == "spec_driven":
            raise ValueError("workflow_mode spec_driven is not available yet; leave it out to use quick")
        return self


class TicketPatch(BaseModel):
    """What to change; fields left out stay as they are."""

    model_config = ConfigDict(extra="forbid", json_schema_extra={"example": {"status": "cancelled"}})

    title: Line = Field(default_factory=str)
    description: Text = Field(default_factory=str)
    priority: Priority = Field(default_factory=lambda: Priority.MEDIUM)
    acceptance: list[Command] = Field(default_factory=list, max_length=50)
    budget_usd: Usd | None = None
    status: Literal["cancelled"] | None = Field(None, description="Cancels every open task of the ticket.")


class TicketOut(Shown):
    """A ticket with its tasks."""

    model_config = ConfigDict(from_attributes=True)

    id: UUID
    project_id: UUID
    title: str
    description: str
    priority: Priority
    ticket_type: TicketType
    workflow_mode: str
    status: TicketStatus
    depends_on: list[UUID] = []
    acceptance: list[str]
    budget_usd: float | None
    spec_id: UUID | None = None
    tasks: list[TaskOut] = []
    created_by: UUID
    created_at: AwareDatetime
    updated_at: AwareDatetime

    @computed_field(description="What its tasks have spent.")  # type: ignore[prop-decorator]
    @property
    def cost_usd(self) -> float:
        """Over all of its tasks."""
        return sum(task.cost_usd for task in self.tasks)

    @computed_field(description="The part of `cost_usd` that the scripted model was charged: nobody paid it.")  # type: ignore[prop-decorator]
    @property
    def simulated_cost_usd(self) -> float:
        """Over all of its tasks."""
        return sum(task.simulated_cost_usd for task in self.tasks)

    @computed_field(description="Whether a part of its cost is simulated.")  # type: ignore[prop-decorator]
    @property
    def cost_simulated(self) -> bool:
        """A scripted model costs nothing."""
        return self.simulated_cost_usd > 0

    @computed_field(description="Where it stands, decided from the outcomes of its tasks.")  # type: ignore[prop-decorator]
    @property
    def outcome(self) -> Outcome:
        """One of the words that every surface uses."""
        return outcomes.of_ticket([task.outcome for task in self.tasks])

    @computed_field(description="What its tasks have used.")  # type: ignore[prop-decorator]
    @property
    def tokens(self) -> int:
        """Over all of its tasks."""
        return sum(task.tokens for task in self.tasks)

    @computed_field(description="The sandboxes in which agents are at work on it now.")  # type: ignore[prop-decorator]
    @property
    def sandboxes_at_work(self) -> list[str]:
        """Of its tasks that take up room."""
        return [task.sandbox_id for task in self.tasks if task.status in ACTIVE and task.sandbox_id is not None]

    @classmethod
    def of(cls, ticket: Ticket, *, tasks: Sequence[TaskOut], depends_on: Sequence[UUID]) -> "TicketOut":
        """The row with its tasks and what it waits for."""
        shown = cls.model_validate(ticket)
        shown.tasks, shown.depends_on = list(tasks), list(depends_on)
        return shown


class TicketPage(Page):
    """Tickets, newest first."""

    items: list[TicketOut]
