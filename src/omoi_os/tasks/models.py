"""Tables of tasks. The table of tasks is the queue."""

from datetime import datetime
from typing import Any
from uuid import UUID

from sqlalchemy import BigInteger, ForeignKey, Index, UniqueConstraint, false, func, text, true
from sqlalchemy.orm import Mapped, mapped_column

from omoi_os.db.base import Base
from omoi_os.ids import uuid7

#: Higher runs first.
PRIORITY_RANK = {"LOW": 0, "MEDIUM": 1, "HIGH": 2, "CRITICAL": 3}


class Task(Base):
    """One unit of work for one agent."""

    __tablename__ = "tasks"
    __table_args__ = (
        Index(
            "ix_tasks_turn", "project_id", text("priority_rank DESC"), "id", postgresql_where=text("status = 'pending'")
        ),
        Index(
            "ix_tasks_not_before",
            "not_before",
            postgresql_where=text("status = 'pending' AND not_before IS NOT NULL"),
        ),
        Index("ix_tasks_active", "project_id", postgresql_where=text("status IN ('assigned', 'running', 'verifying')")),
        Index("ix_tasks_open", "status", postgresql_where=text("status NOT IN ('completed', 'failed', 'cancelled')")),
        Index("ix_tasks_completed_at", "completed_at"),
        Index(
            "ix_tasks_verification_requested_at",
            "verification_requested_at",
            postgresql_where=text("verification_requested_at IS NOT NULL"),
        ),
        Index("ix_tasks_project_id_id", "project_id", "id"),
        Index("ix_tasks_ticket_id_id", "ticket_id", "id"),
        UniqueConstraint("project_id", "branch_name"),
    )

    id: Mapped[UUID] = mapped_column(primary_key=True, default=uuid7)
    ticket_id: Mapped[UUID] = mapped_column(ForeignKey("tickets.id"))
    project_id: Mapped[UUID] = mapped_column(ForeignKey("projects.id"))
    title: Mapped[str]
    description: Mapped[str]
    task_type: Mapped[str]
    priority: Mapped[str]
    priority_rank: Mapped[int]
    status: Mapped[str]
    branch_name: Mapped[str | None]
    #: Whether the branch was created on the forge for this task. Before that its name may still change, and nothing
    #: may be pushed to it.
    branch_created: Mapped[bool] = mapped_column(default=False, server_default=false())
    sandbox_id: Mapped[str | None]
    attempt: Mapped[int]
    max_attempts: Mapped[int]
    #: Number of attempts that the platform or the host ended since the task was created or retried.
    platform_ends: Mapped[int] = mapped_column(default=0, server_default="0")
    #: The requested model; None uses the installation's.
    model: Mapped[str | None]
    #: How long its worker waits for further messages after the agent has finished.
    linger_seconds: Mapped[int] = mapped_column(default=0, server_default="0")
    #: Whether a result needs a commit.
    requires_commit: Mapped[bool] = mapped_column(default=True, server_default=true())
    #: Number of assignments; a sandbox with a lower number is superseded.
    fence: Mapped[int] = mapped_column(BigInteger)
    #: The orchestrator that creates the sandbox or checks the result, and when its lease expires.
    lease_owner: Mapped[int | None] = mapped_column(BigInteger)
    lease_expires_at: Mapped[datetime | None]
    #: A pending task is not dispatched before this.
    not_before: Mapped[datetime | None]
    #: Why the last attempt was not accepted, for the next one's prompt.
    feedback: Mapped[str | None]
    result: Mapped[dict[str, Any] | None]
    error: Mapped[str | None]
    #: Type of the error that ended it, if known: `environment` is one that no further attempt can repair.
    error_type: Mapped[str | None]
    #: A requested verification of the stored commit with these commands; cleared by the verdict.
    verification_requested_at: Mapped[datetime | None]
    verification_acceptance: Mapped[list[str] | None]
    #: How often the current verification was started.
    verification_tries: Mapped[int] = mapped_column(default=0, server_default="0")
    cost_usd: Mapped[float]
    #: The part of `cost_usd` that is simulated: calls of the scripted model, which nobody pays.
    simulated_cost_usd: Mapped[float] = mapped_column(default=0.0, server_default="0")
    tokens: Mapped[int] = mapped_column(BigInteger)
    created_by: Mapped[UUID] = mapped_column(ForeignKey("users.id"))
    created_at: Mapped[datetime] = mapped_column(server_default=func.now())
    started_at: Mapped[datetime | None]
    completed_at: Mapped[datetime | None]


class ProjectTurn(Base):
    """When a task of a project was last claimed. Separate from projects, so that edits do not block a claim."""

    __tablename__ = "project_turns"

    project_id: Mapped[UUID] = mapped_column(ForeignKey("projects.id"), primary_key=True)
    claimed_at: Mapped[datetime]


class TaskDependency(Base):
    """One task depends on another."""

    __tablename__ = "task_dependencies"

    task_id: Mapped[UUID] = mapped_column(ForeignKey("tasks.id"), primary_key=True)
    depends_on_id: Mapped[UUID] = mapped_column(ForeignKey("tasks.id"), primary_key=True, index=True)
