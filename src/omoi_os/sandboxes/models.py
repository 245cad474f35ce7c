"""Tables of sandboxes, their events, blobs, messages and transcripts."""

from datetime import datetime
from typing import Any
from uuid import UUID

from sqlalchemy import BigInteger, CheckConstraint, ForeignKey, Index, UniqueConstraint, func, text
from sqlalchemy.orm import Mapped, mapped_column

from omoi_os.db.base import Base
from omoi_os.ids import uuid7

#: A sandbox serves a task or a spec, never both and never neither.
ONE_SUBJECT = "num_nonnulls(task_id, spec_id) = 1"


class Sandbox(Base):
    """One attempt at a task, one check of its result, or a spec's phases. The row is stored before the sandbox exists.

    `spec_id` has no foreign key: specs have no table.
    """

    __tablename__ = "sandboxes"
    __table_args__ = (
        Index("ix_sandboxes_alive", "status", postgresql_where=text("status IN ('creating', 'running', 'stopping')")),
        Index(
            "uq_sandboxes_one_alive_per_task",
            "task_id",
            unique=True,
            postgresql_where=text("purpose = 'work' AND status IN ('creating', 'running', 'stopping')"),
        ),
        Index(
            "uq_sandboxes_one_alive_per_spec",
            "spec_id",
            unique=True,
            postgresql_where=text(
                "spec_id IS NOT NULL AND purpose = 'work' AND status IN ('creating', 'running', 'stopping')"
            ),
        ),
        Index("ix_sandboxes_created_at_id", "created_at", "id"),
        Index("ix_sandboxes_project_id_created_at_id", "project_id", "created_at", "id"),
        Index("ix_sandboxes_task_id", "task_id"),
        Index("ix_sandboxes_spec_id", "spec_id", postgresql_where=text("spec_id IS NOT NULL")),
        Index(
            "ix_sandboxes_unpruned",
            "project_id",
            "ended_at",
            postgresql_where=text("pruned_at IS NULL AND ended_at IS NOT NULL"),
        ),
        UniqueConstraint("token_hash"),
        CheckConstraint(ONE_SUBJECT, name="one_subject"),
    )

    id: Mapped[str] = mapped_column(primary_key=True)
    project_id: Mapped[UUID] = mapped_column(ForeignKey("projects.id"))
    #: What it serves: either a task or a spec.
    task_id: Mapped[UUID | None] = mapped_column(ForeignKey("tasks.id"))
    spec_id: Mapped[UUID | None]
    provider: Mapped[str]
    #: Where the provider creates it: only orchestrators with the same site can see whether it is alive.
    site: Mapped[str]
    #: The provider's own name for it, which every call of the provider uses. None until it is created.
    provider_ref: Mapped[str | None]
    #: The name of its folder with the gateway socket: its own id, or the id that it had in the warm pool.
    gateway_socket: Mapped[str]
    purpose: Mapped[str]
    attempt: Mapped[int]
    fence: Mapped[int] = mapped_column(BigInteger)
    status: Mapped[str]
    token_hash: Mapped[str]
    model: Mapped[str | None]
    budget_usd: Mapped[float | None]
    last_heartbeat_at: Mapped[datetime | None]
    first_heartbeat_at: Mapped[datetime | None]
    last_work_at: Mapped[datetime | None]
    #: The number of its newest event, dense from 1.
    last_seq: Mapped[int] = mapped_column(BigInteger)
    #: The worker's own counter up to which everything is stored.
    acked_seq: Mapped[int] = mapped_column(BigInteger)
    #: The acknowledged number after which an event is missing, when that was seen, and when it was reported.
    gap_after: Mapped[int | None] = mapped_column(BigInteger)
    gap_seen_at: Mapped[datetime | None]
    gap_flagged_at: Mapped[datetime | None]
    #: The number of events by type.
    event_counts: Mapped[dict[str, Any]] = mapped_column(default=dict)
    #: The size of all events; counted against the quota of one sandbox.
    event_bytes: Mapped[int] = mapped_column(BigInteger, default=0, server_default="0")
    #: The error of the worker's last `agent.failed`.
    failure: Mapped[str | None]
    #: Why the gateway refuses every further model call; a retry would not help.
    refusal: Mapped[str | None]
    #: Why it was asked to stop, see `lifecycle.StopCause`.
    stop_cause: Mapped[str | None]
    end_reason: Mapped[str | None]
    #: The verdict on the result of this attempt, or of the check that ran here.
    verdict: Mapped[str | None]
    #: The resource usage that its provider last reported.
    memory_bytes: Mapped[int | None] = mapped_column(BigInteger)
    cpu_seconds: Mapped[float | None]
    disk_bytes: Mapped[int | None] = mapped_column(BigInteger)
    pids: Mapped[int | None]
    cost_usd: Mapped[float]
    #: The part of `cost_usd` that is simulated, because the scripted model answered.
    simulated_cost_usd: Mapped[float] = mapped_column(default=0.0, server_default="0")
    tokens: Mapped[int] = mapped_column(BigInteger)
    created_at: Mapped[datetime] = mapped_column(server_default=func.now())
    started_at: Mapped[datetime | None]
    ended_at: Mapped[datetime | None]
    #: When its events, blobs, messages and transcript were deleted after their retention.
    pruned_at: Mapped[datetime | None]

    @property
    def gap_since(self) -> datetime | None:
        """Return since when a posted event is missing, or None."""
        return self.gap_seen_at if self.gap_after == self.acked_seq else None


class ModelReservation(Base):
    """The estimated cost of a running model call; deleted in the transaction that adds the actual cost."""

    __tablename__ = "model_reservations"
    __table_args__ = (CheckConstraint(ONE_SUBJECT, name="one_subject"),)

    id: Mapped[UUID] = mapped_column(primary_key=True)
    #: What it is charged to: either a task or a spec.
    task_id: Mapped[UUID | None] = mapped_column(ForeignKey("tasks.id"), index=True)
    spec_id: Mapped[UUID | None] = mapped_column(index=True)
    #: The gateway process that renews it. After its crash the reservation expires.
    gateway_id: Mapped[UUID] = mapped_column(index=True)
    amount_usd: Mapped[float]
    expires_at: Mapped[datetime]


class SandboxSalvage(Base):
    """The kept disk of a sandbox whose work could not be saved at its end."""

    __tablename__ = "sandbox_salvages"
    __table_args__ = (
        Index("ix_sandbox_salvages_open", "created_at", postgresql_where=text("state IN ('pending', 'kept')")),
    )

    sandbox_id: Mapped[str] = mapped_column(ForeignKey("sandboxes.id"), primary_key=True)
    state: Mapped[str]
    #: How often saving was tried, why the last try failed, and when the next one is due.
    attempts: Mapped[int]
    last_error: Mapped[str | None]
    next_attempt_at: Mapped[datetime | None]
    #: Until when the task's next attempt waits for this one's work.
    wait_until: Mapped[datetime | None]
    disk_bytes: Mapped[int | None] = mapped_column(BigInteger)
    #: The orchestrator that is saving now, and when its lease expires.
    lease_owner: Mapped[int | None] = mapped_column(BigInteger)
    lease_expires_at: Mapped[datetime | None]
    created_at: Mapped[datetime] = mapped_column(server_default=func.now())
    #: When the work was saved or given up.
    ended_at: Mapped[datetime | None]


class SandboxEvent(Base):
    """One fact about a sandbox: appended, numbered, never changed."""

    __tablename__ = "sandbox_events"
    __table_args__ = (
        UniqueConstraint("sandbox_id", "event_id"),
        UniqueConstraint("sandbox_id", "fence", "posted_seq"),
        Index("ix_sandbox_events_sandbox_id_event_type_seq", "sandbox_id", "event_type", "seq"),
    )

    sandbox_id: Mapped[str] = mapped_column(ForeignKey("sandboxes.id"), primary_key=True)
    seq: Mapped[int] = mapped_column(BigInteger, primary_key=True)
    event_id: Mapped[str]
    fence: Mapped[int] = mapped_column(BigInteger)
    posted_seq: Mapped[int | None] = mapped_column(BigInteger)
    event_type: Mapped[str]
    event_data: Mapped[dict[str, Any]]
    source: Mapped[str]
    occurred_at: Mapped[datetime]
    created_at: Mapped[datetime] = mapped_column(server_default=func.now())


class SandboxBlob(Base):
    """A value too large for its event's row, stored in full by its hash."""

    __tablename__ = "sandbox_blobs"

    sandbox_id: Mapped[str] = mapped_column(ForeignKey("sandboxes.id"), primary_key=True)
    sha256: Mapped[str] = mapped_column(primary_key=True)
    content: Mapped[bytes]
    created_at: Mapped[datetime] = mapped_column(server_default=func.now())


class SandboxMessage(Base):
    """Text sent to a running agent."""

    __tablename__ = "sandbox_messages"
    __table_args__ = (
        Index("ix_sandbox_messages_sandbox_id_id", "sandbox_id", "id"),
        Index("ix_sandbox_messages_waiting", "sandbox_id", "id", postgresql_where=text("acked_at IS NULL")),
    )

    id: Mapped[UUID] = mapped_column(primary_key=True, default=uuid7)
    sandbox_id: Mapped[str] = mapped_column(ForeignKey("sandboxes.id"))
    message_type: Mapped[str]
    content: Mapped[str]
    deliver: Mapped[str]
    sender: Mapped[str]
    queued_at: Mapped[datetime] = mapped_column(server_default=func.now())
    acked_at: Mapped[datetime | None]
    delivered_at: Mapped[datetime | None]
    seen_at: Mapped[datetime | None]
    #: The sandbox whose saved transcript last contained it.
    kept_in: Mapped[str | None]
    #: How often it was queued again because the conversation that contained it was lost.
    redeliveries: Mapped[int] = mapped_column(server_default="0")


class Transcript(Base):
    """The agent's conversation as its SDK writes it, in parts; a later attempt can resume it."""

    __tablename__ = "session_transcripts"

    sandbox_id: Mapped[str] = mapped_column(ForeignKey("sandboxes.id"), primary_key=True)
    session_id: Mapped[str]
    #: How much of the worker's file is kept, as the worker counts.
    received_bytes: Mapped[int] = mapped_column(BigInteger)
    #: How much that is without secrets.
    size_bytes: Mapped[int] = mapped_column(BigInteger)
    updated_at: Mapped[datetime] = mapped_column(server_default=func.now())


class TranscriptPart(Base):
    """What one turn added to a conversation, compressed."""

    __tablename__ = "session_transcript_parts"

    sandbox_id: Mapped[str] = mapped_column(
        ForeignKey("session_transcripts.sandbox_id", ondelete="CASCADE"), primary_key=True
    )
    #: Where it begins in the worker's file.
    start: Mapped[int] = mapped_column(BigInteger, primary_key=True, autoincrement=False)
    content: Mapped[bytes]


class WarmSandbox(Base):
    """A sandbox that waits for a task. It belongs to the orchestrator that created it and is used once."""

    __tablename__ = "warm_sandboxes"

    id: Mapped[str] = mapped_column(primary_key=True)
    #: The provider's own name for it. None until it is created.
    provider_ref: Mapped[str | None]
    provider: Mapped[str]
    site: Mapped[str]
    #: The presence number of its orchestrator, without which nobody uses this sandbox.
    owner: Mapped[int] = mapped_column(BigInteger, index=True)
    created_at: Mapped[datetime] = mapped_column(server_default=func.now())


class Installation(Base):
    """The single row that names this installation: the label on every sandbox that it creates."""

    __tablename__ = "installation"
    __table_args__ = (CheckConstraint("id = 1", name="one_row"),)

    id: Mapped[int] = mapped_column(primary_key=True, autoincrement=False)
    name: Mapped[str]
    #: The data folder with the local forge's repositories: its site, and its last host and path.
    forge_site: Mapped[str | None]
    forge_host: Mapped[str | None]
    forge_path: Mapped[str | None]


class Site(Base):
    """A data folder or a provider's account: only its own orchestrators can reach its sandboxes."""

    __tablename__ = "sites"

    name: Mapped[str] = mapped_column(primary_key=True)
    #: The machine and the presence number of the orchestrator that served it last.
    host: Mapped[str]
    owner: Mapped[int] = mapped_column(BigInteger)
    last_served_at: Mapped[datetime] = mapped_column(server_default=func.now())
