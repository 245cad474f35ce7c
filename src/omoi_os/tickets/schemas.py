"""Request and response bodies for tickets."""

from collections.abc import Sequence
from enum import StrEnum
from typing import Annotated, Literal
from uuid import UUID

from pydantic import AwareDatetime, BaseModel, BeforeValidator, ConfigDict, Field, computed_field, model_validator

from omoi_os.http.choices import AnyCase, not_available
from omoi_os.http.paging import Page
from omoi_os.http.shapes import Shown
from omoi_os.http.text import Command, Line, Text
from omoi_os.projects.schemas import RepositoryName, Usd
from omoi_os.tasks import outcomes
from omoi_os.tasks.lifecycle import ACTIVE
from omoi_os.tasks.outcomes import Outcome
from omoi_os.tasks.schemas import TaskOut
from omoi_os.tickets.models import Ticket, TicketStatus


class Priority(StrEnum):
    """The order in which a project's tasks run."""

    LOW = "LOW"
    MEDIUM = "MEDIUM"
    HIGH = "HIGH"
    CRITICAL = "CRITICAL"


class TicketType(StrEnum):
    """The kind of change that is wanted; it decides the prefix of the branch."""

    FEATURE = "feature"
    BUG = "bug"
    REFACTOR = "refactor"
    DOCS = "docs"
    TEST = "test"
    CHORE = "chore"


_PRIORITY = "Tasks of a higher priority run first: `CRITICAL`, `HIGH`, `MEDIUM`, then `LOW`."
_TYPE = "Kind of change. It decides the prefix of the branch: `bug` creates `fix/…`, or `hotfix/…` if it is critical."
_BUDGET = (
    "Maximum amount in US dollars that each task of the ticket may spend on model calls. The smallest budget of the "
    "installation, the project and the ticket applies."
)


class TicketIn(BaseModel):
    """A ticket to create. Requires `project_id`, or `github_owner` and `github_repo`."""

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

    title: Line = Field(description="What is wanted, in one line. The name of the branch is derived from it.")
    description: Text = Field("", description="What is wanted, in detail. The agent reads the title and this text.")
    project_id: UUID | None = Field(None, description="The project that the ticket belongs to.")
    github_owner: RepositoryName | None = Field(
        None,
        description="Owner of the repository, instead of `project_id`. If you see no project on it, one is created.",
    )
    github_repo: RepositoryName | None = Field(
        None, description="Name of the repository, together with `github_owner` instead of `project_id`."
    )
    priority: AnyCase[Priority] = Field(Priority.MEDIUM, description=_PRIORITY)
    ticket_type: AnyCase[TicketType] = Field(TicketType.FEATURE, description=_TYPE)
    workflow_mode: Annotated[
        AnyCase[Literal["quick"]], BeforeValidator(not_available("spec_driven", instead="quick"))
    ] = Field("quick", description="`quick`: the ticket becomes one task at once.")
    depends_on: list[UUID] = Field(
        [], max_length=100, description="Tickets of the same project that must be done before this one starts."
    )
    acceptance: list[Command] = Field(
        [], max_length=50, description="Shell commands that must succeed, in addition to those of the project."
    )
    budget_usd: Usd | None = Field(None, description=_BUDGET)

    @model_validator(mode="after")
    def _names_one_project(self) -> "TicketIn":
        by_name = (self.github_owner, self.github_repo)
        if self.project_id is None and None in by_name:
            raise ValueError("give project_id, or github_owner and github_repo")
        if self.project_id is not None and by_name != (None, None):
            raise ValueError("give project_id, or github_owner and github_repo, not both")
        return self


class TicketPatch(BaseModel):
    """The fields of a ticket to change; fields that are left out keep their value."""

    model_config = ConfigDict(extra="forbid", json_schema_extra={"example": {"status": "cancelled"}})

    title: Line = Field(
        default_factory=str, description="New title. Tasks that have not started get it too; branch names stay."
    )
    description: Text = Field(
        default_factory=str, description="New description. Tasks that have not started get it too."
    )
    priority: AnyCase[Priority] = Field(
        default_factory=lambda: Priority.MEDIUM, description="New priority, also for the open tasks of the ticket."
    )
    acceptance: list[Command] = Field(
        default_factory=list, max_length=50, description="Replaces the ticket's acceptance commands."
    )
    budget_usd: Usd | None = Field(None, description=f"{_BUDGET} Null removes the ticket's own budget.")
    status: AnyCase[Literal["cancelled"]] | None = Field(
        None, description="`cancelled` cancels every open task of the ticket. No other status can be set."
    )


class TicketOut(Shown):
    """A ticket with its tasks."""

    model_config = ConfigDict(from_attributes=True)

    id: UUID = Field(description="The ticket's id.")
    project_id: UUID = Field(description="The project that the ticket belongs to.")
    title: str = Field(description="What is wanted, in one line.")
    description: str = Field(description="What is wanted, in detail; empty if only a title was given.")
    priority: Priority = Field(description=_PRIORITY)
    ticket_type: TicketType = Field(description=_TYPE)
    workflow_mode: str = Field(description="`quick`: the ticket became one task at once.")
    status: TicketStatus = Field(
        description="Derived from the tasks. `backlog`: no task has started; `analyzing`: its spec is being worked "
        "out; `building`: an agent is working; `testing`: a result is being verified; `done`: every task is completed; "
        "`blocked`: its open tasks wait for other tasks; `failed`: no task is open and one has failed; `cancelled`: "
        "every task was cancelled."
    )
    depends_on: list[UUID] = Field([], description="Tickets of the same project that must be done before this one.")
    acceptance: list[str] = Field(description="Shell commands that must succeed, in addition to those of the project.")
    budget_usd: float | None = Field(
        description="Maximum amount in US dollars for each task of the ticket; null if the ticket sets none."
    )
    spec_id: UUID | None = Field(None, description="The spec that the ticket was created from; null if there is none.")
    tasks: list[TaskOut] = Field([], description="The tasks of the ticket, oldest first.")
    created_by: UUID = Field(description="The user who created the ticket.")
    created_at: AwareDatetime = Field(description="When the ticket was created.")
    updated_at: AwareDatetime = Field(description="When the ticket's own fields were last changed.")

    @computed_field(description="What all tasks of the ticket have spent on model calls, in US dollars.")  # type: ignore[prop-decorator]
    @property
    def cost_usd(self) -> float:
        """Return the sum over all tasks."""
        return sum(task.cost_usd for task in self.tasks)

    @computed_field(description="The part of `cost_usd` that is simulated: the scripted model's, which nobody pays.")  # type: ignore[prop-decorator]
    @property
    def simulated_cost_usd(self) -> float:
        """Return the sum over all tasks."""
        return sum(task.simulated_cost_usd for task in self.tasks)

    @computed_field(description="Whether a part of `cost_usd` is simulated.")  # type: ignore[prop-decorator]
    @property
    def cost_simulated(self) -> bool:
        """Return whether a scripted model was used."""
        return self.simulated_cost_usd > 0

    @computed_field(description="The least good outcome among the tasks, which decides how the ticket is shown.")  # type: ignore[prop-decorator]
    @property
    def outcome(self) -> Outcome:
        """Return the outcome that is derived from those of the tasks."""
        return outcomes.of_ticket([task.outcome for task in self.tasks])

    @computed_field(description="How many tokens all tasks of the ticket have used.")  # type: ignore[prop-decorator]
    @property
    def tokens(self) -> int:
        """Return the sum over all tasks."""
        return sum(task.tokens for task in self.tasks)

    @computed_field(description="Ids of the sandboxes in which agents are working on the ticket now.")  # type: ignore[prop-decorator]
    @property
    def sandboxes_at_work(self) -> list[str]:
        """Return the sandboxes of the active tasks."""
        return [task.sandbox_id for task in self.tasks if task.status in ACTIVE and task.sandbox_id is not None]

    @classmethod
    def of(cls, ticket: Ticket, *, tasks: Sequence[TaskOut], depends_on: Sequence[UUID]) -> "TicketOut":
        """Return the response for a stored ticket."""
        shown = cls.model_validate(ticket)
        shown.tasks, shown.depends_on = list(tasks), list(depends_on)
        return shown


class TicketCreated(TicketOut):
    """A new ticket."""

    project_created: bool = Field(
        False, description="Whether this request created the project, because you could see none on the repository."
    )

    @classmethod
    def of_new(cls, ticket: TicketOut, *, project_created: bool) -> "TicketCreated":
        """Return the response for a ticket that was just created."""
        return cls(**dict(ticket), project_created=project_created)


class TicketPage(Page):
    """Tickets, newest first."""

    items: list[TicketOut] = Field(description="The tickets on this page.")
