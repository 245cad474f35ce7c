"""Tasks as the API takes and shows them."""

from collections.abc import Sequence
from typing import Literal
from uuid import UUID

from pydantic import AwareDatetime, BaseModel, ConfigDict, Field, computed_field, model_validator

from omoi_os.http.paging import Page
from omoi_os.http.shapes import Shown
from omoi_os.http.text import Command, Line, Text
from omoi_os.protocol.assignment import ExecutionMode
from omoi_os.tasks import outcomes
from omoi_os.tasks.lifecycle import TaskState
from omoi_os.tasks.models import Task
from omoi_os.tasks.outcomes import Outcome
from omoi_os.tasks.verdict import Verdict


class CheckOut(Shown):
    """One acceptance command and how it ended in a fresh sandbox."""

    command: str = Field(description="The shell command.")
    exit_code: int | None = Field(description="Its exit code; 124 when it took too long.")
    output: str = Field(description="The end of what it printed.")
    baseline: Literal["failed", "passed", "not_run"] = Field(
        "not_run", description="How the same command ended before the change."
    )
    warning: str | None = Field(
        None, description="Why a check that passed proves less than it seems to, e.g. `no tests were collected`."
    )


class TaskResult(Shown):
    """What came of a task."""

    model_config = ConfigDict(extra="allow")

    final_output: str | None = Field(None, description="The agent's last answer.")
    commit_sha: str | None = Field(None, description="The commit that the verdict is about.")
    verdict: Verdict | None = Field(
        None,
        description="`verified`: every check passed in a fresh sandbox at this commit. `unchecked`: no check, or only "
        "checks that collected no tests, so nothing was proven. `failed`: a check failed, or no commit was pushed. "
        "Null before the first verdict.",
    )
    verified: bool = Field(False, description="Whether the verdict is `verified`.")
    reason: str | None = Field(None, description="Why it is unchecked or failed, in one sentence.")
    checks: list[CheckOut] = Field([], description="The checks in order, up to the first that failed.")
    changed_checks: list[str] = Field(
        [],
        description="Files that the checks depend on (tests, build and CI configuration) and that the change itself "
        "modified.",
    )

    @model_validator(mode="before")
    @classmethod
    def _from_before_verdicts(cls, stored: object) -> object:
        """Read a result that was stored before there were verdicts: without a check it proves nothing."""
        if not isinstance(stored, dict) or "verdict" in stored:
            return stored
        verdict = outcomes.verdict_of(stored)
        return stored | {"verdict": verdict, "verified": verdict == Verdict.VERIFIED}


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


class VerifyIn(BaseModel):
    """What to check a stored commit with."""

    model_config = ConfigDict(extra="forbid", json_schema_extra={"example": {"acceptance": ["python3 -m unittest"]}})

    acceptance: list[Command] | None = Field(
        None,
        max_length=50,
        description="Shell commands for this verification only; they are not added to the ticket. Left out or empty: "
        "the project's and the ticket's.",
    )


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
    error_type: str | None = Field(
        description="What kind of error ended it, where that is known. `environment`: a command, interpreter or module "
        "that the checks need is missing, which no further attempt can repair."
    )
    verification_requested_at: AwareDatetime | None = Field(
        description="Since when the stored commit is being verified again; null when it is not."
    )
    cost_usd: float
    simulated_cost_usd: float = Field(
        description="The part of `cost_usd` that the scripted model was charged: nobody paid it."
    )
    tokens: int
    created_at: AwareDatetime
    started_at: AwareDatetime | None
    completed_at: AwareDatetime | None

    @computed_field(description="Where it stands, decided from its state and the verdict on its result.")  # type: ignore[prop-decorator]
    @property
    def outcome(self) -> Outcome:
        """One of the words that every surface uses."""
        return outcomes.of_task(self.status, self.result.verdict if self.result else None)

    @computed_field(description="Whether a part of its cost is simulated.")  # type: ignore[prop-decorator]
    @property
    def cost_simulated(self) -> bool:
        """A scripted model costs nothing."""
        return self.simulated_cost_usd > 0

    @classmethod
    def of(cls, task: Task, depends_on: Sequence[UUID]) -> "TaskOut":
        """The row with what it waits for."""
        shown = cls.model_validate(task)
        shown.depends_on = list(depends_on)
        return shown


class TaskPage(Page):
    """Tasks, newest first."""

    items: list[TaskOut]
