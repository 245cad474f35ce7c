"""Every table. A process that imports this module can resolve all foreign keys."""

from omoi_os.accounts.models import ApiKey, BrowserSession, IdempotentRequest, SignInCode, User
from omoi_os.audit.models import AuditEntry
from omoi_os.credentials.models import Credential
from omoi_os.db.base import Base
from omoi_os.health.models import PlatformWarning
from omoi_os.projects.models import Project, ProjectMember
from omoi_os.sandboxes.models import (
    Installation,
    ModelReservation,
    Sandbox,
    SandboxBlob,
    SandboxEvent,
    SandboxMessage,
    Transcript,
    TranscriptPart,
    WarmSandbox,
)
from omoi_os.stream.models import Outbox
from omoi_os.tasks.models import Task, TaskDependency
from omoi_os.tickets.models import Ticket, TicketDependency

__all__ = [
    "ApiKey",
    "AuditEntry",
    "Base",
    "BrowserSession",
    "Credential",
    "IdempotentRequest",
    "Installation",
    "ModelReservation",
    "Outbox",
    "PlatformWarning",
    "Project",
    "ProjectMember",
    "Sandbox",
    "SandboxBlob",
    "SandboxEvent",
    "SandboxMessage",
    "SignInCode",
    "Task",
    "TaskDependency",
    "Ticket",
    "TicketDependency",
    "Transcript",
    "TranscriptPart",
    "User",
    "WarmSandbox",
]

metadata = Base.metadata
