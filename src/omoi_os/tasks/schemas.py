"""Tasks as the API takes and shows them."""

from collections.abc import Sequence
from uuid import UUID

from pydantic import AwareDatetime, BaseModel, ConfigDict, Field

from omoi_os.api.paging import Page
from omoi_os.api.shapes import Shown
from omoi_os.api.text import Line, Text
from omoi_os.protocol.assignment import ExecutionMode
from omoi_os.tasks.lifecycle import TaskState
from omoi_os.tasks.models import Task


class CheckOut(BaseModel):
    """One acceptance command and how it ended."""

    command: str
    exit_code: int | None
    output: str


class TaskResult(Shown):
    """What came of a task."""

    model_config = ConfigDict(extra="allow")

    final_output: str | None = None
    commit_sha: str | None = None
    verified: bool = False
    checks: list[CheckOut] = []


class TaskIn(BaseModel):
    """A task to add to a ticket."""

    model_config = ConfigDict(
        extra="forbid",
        json_schema_extra={
            "example": {"ticket_id": "01890a5d-ac96-774b-bcce-b302099a8057", "title": "Document binomial.py"}
        },
    )

    ticket_id: UUID
    title: Line
    description: Text = ""
    task_type: ExecutionMode = ExecutionMode.IMPLEMENTATION
    depends_on: list[UUID] = Field([], max_length=100, description="Tasks of the same project that come first.")
    max_attempts: int | None = Field(None, ge=1, le=20, description="How often it is tried; the platform's default.")


class RetryIn(BaseModel):
    """How to go on with a failed task."""

    model_config = ConfigDict(extra="forbid", json_schema_extra={"example": {"message": "Use math.comb."}})

    message: Text | None = Field(None, max_length=20_000, description="A word to the agent for its next attempt.")


class TaskOut(Shown):
    """A task."""

    model_config = ConfigDict(from_attributes=True)

    id: UUID
    ticket_id: UUID
    project_id: UUID
    title: str
    description: str
    task_type: str
    priority: str
    status: TaskState
    sandbox_id: str | None
    attempt: int
    max_attempts: int
    depends_on: list[UUID] = []
    branch_name: str | None
    result: TaskResult | None
    error: str | None
    cost_usd: float
    tokens: int
    created_at: AwareDatetime
    started_at: AwareDatetime | None
    completed_at: AwareDatetime | None

    @classmethod
    def of(cls, task: Task, depends_on: Sequence[UUID]) -> "TaskOut":
        """The row with what it waits for."""
        shown = cls.model_validate(task)
        shown.depends_on = list(depends_on)
        return shown


class TaskPage(Page):
    """Tasks, newest first."""

    items: list[TaskOut]
