"""Request and response bodies for tasks."""

from collections.abc import Sequence
from typing import Literal
from uuid import UUID

from pydantic import AwareDatetime, BaseModel, ConfigDict, Field, computed_field, model_validator

from omoi_os.http.choices import AnyCase
from omoi_os.http.paging import Page
from omoi_os.http.shapes import Shown
from omoi_os.http.text import Command, Line, Text
from omoi_os.protocol.assignment import ExecutionMode
from omoi_os.tasks import outcomes
from omoi_os.tasks.lifecycle import TaskState
from omoi_os.tasks.models import Task
from omoi_os.tasks.outcomes import Outcome
from omoi_os.tasks.verdict import Verdict

_TASK_TYPE = (
    "The expected result. `implementation`: a pushed commit; `exploration`: a report, without a commit; `validation`: "
    "a check of what exists."
)


class CheckOut(Shown):
    """One acceptance command and how it ended in a fresh sandbox."""

    command: str = Field(description="The shell command that was run.")
    exit_code: int | None = Field(description="Exit code of the command; 124 if it timed out.")
    output: str = Field(description="The end of the command's output.")
    baseline: Literal["failed", "passed", "not_run"] = Field(
        "not_run",
        description="Result of the same command before the change: if it `failed`, passing now proves something.",
    )
    warning: str | None = Field(
        None, description="Why a check that passed proves less than it seems to, e.g. `no tests were collected`."
    )


class TaskResult(Shown):
    """Result of a task."""

    model_config = ConfigDict(extra="allow")

    final_output: str | None = Field(None, description="The agent's last reply.")
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
        """Add the verdict to a result that was stored without one: without a check, nothing was proven."""
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

    ticket_id: UUID = Field(description="The ticket that the task belongs to.")
    title: Line = Field(description="What the agent must do, in one line. The name of the branch is derived from it.")
    description: Text = Field("", description="What the agent must do, in detail.")
    task_type: AnyCase[ExecutionMode] = Field(ExecutionMode.IMPLEMENTATION, description=_TASK_TYPE)
    depends_on: list[UUID] = Field(
        [], max_length=100, description="Tasks of the same project that must be completed before this one starts."
    )
    max_attempts: int | None = Field(
        None, ge=1, le=20, description="How many attempts the task gets; the installation's default if left out."
    )


class RetryIn(BaseModel):
    """How to retry a failed task."""

    model_config = ConfigDict(extra="forbid", json_schema_extra={"example": {"message": "Use math.comb."}})

    message: Text | None = Field(None, max_length=20_000, description="A message to the agent for its next attempt.")


class VerifyIn(BaseModel):
    """How to verify a stored commit."""

    model_config = ConfigDict(extra="forbid", json_schema_extra={"example": {"acceptance": ["python3 -m unittest"]}})

    acceptance: list[Command] | None = Field(
        None,
        max_length=50,
        description="Shell commands for this verification only; they are not added to the ticket. If it is left out or "
        "empty, the commands of the project and the ticket are run.",
    )


class TaskOut(Shown):
    """A task: one unit of work for one agent."""

    model_config = ConfigDict(from_attributes=True)

    id: UUID = Field(description="The task's id.")
    ticket_id: UUID = Field(description="The ticket that the task belongs to.")
    project_id: UUID = Field(description="The project that the task belongs to.")
    title: str = Field(description="What the agent must do, in one line.")
    description: str = Field(description="What the agent must do, in detail.")
    task_type: str = Field(description=_TASK_TYPE)
    priority: str = Field(description="`LOW`, `MEDIUM`, `HIGH` or `CRITICAL`, as the ticket has it.")
    status: TaskState = Field(
        description="`blocked`: a dependency is open; `pending`: queued; `assigned`: its sandbox is being created; "
        "`running`: the agent works; `verifying`: the agent has finished and the result is being checked; `completed`, "
        "`failed` and `cancelled` are final, but a failed task can be retried."
    )
    sandbox_id: str | None = Field(
        description="The sandbox of the current or last attempt; null while the task waits for one."
    )
    attempt: int = Field(description="Number of the current attempt, from 1.")
    max_attempts: int = Field(
        description="After this many attempts the task fails. It grows with each attempt that the platform or the host "
        "ended."
    )
    depends_on: list[UUID] = Field([], description="Tasks that must be completed before this one starts.")
    branch_name: str | None = Field(description="The branch that the agent pushes to; every attempt uses the same one.")
    result: TaskResult | None = Field(description="The agent's reply and the verdict on it; null before the first.")
    error: str | None = Field(description="Why the last attempt failed or the task is waiting; null if neither.")
    error_type: str | None = Field(
        description="Type of the error that ended the task, if known. `environment`: a command, interpreter or module "
        "that the checks need is missing, which no further attempt can repair."
    )
    verification_requested_at: AwareDatetime | None = Field(
        description="When somebody asked to verify the stored commit again; null if no verification is due."
    )
    cost_usd: float = Field(description="What all attempts have spent on model calls, in US dollars.")
    simulated_cost_usd: float = Field(
        description="The part of `cost_usd` that is simulated: calls of the scripted model, which nobody pays."
    )
    tokens: int = Field(description="How many tokens all attempts have used.")
    created_at: AwareDatetime = Field(description="When the task was created.")
    started_at: AwareDatetime | None = Field(description="When the first attempt started to run; null before that.")
    completed_at: AwareDatetime | None = Field(
        description="When the task was completed, failed or cancelled; null while it is open."
    )

    @computed_field(description="Derived from the status and the verdict; decides how the task is shown.")  # type: ignore[prop-decorator]
    @property
    def outcome(self) -> Outcome:
        """Return the outcome that is derived from status and verdict."""
        return outcomes.of_task(self.status, self.result.verdict if self.result else None)

    @computed_field(description="Whether a part of `cost_usd` is simulated.")  # type: ignore[prop-decorator]
    @property
    def cost_simulated(self) -> bool:
        """Return whether a scripted model was used."""
        return self.simulated_cost_usd > 0

    @classmethod
    def of(cls, task: Task, depends_on: Sequence[UUID]) -> "TaskOut":
        """Return the response for a stored task."""
        shown = cls.model_validate(task)
        shown.depends_on = list(depends_on)
        return shown


class TaskPage(Page):
    """Tasks, newest first."""

    items: list[TaskOut] = Field(description="The tasks on this page.")
