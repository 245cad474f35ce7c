"""The audit trail as the API shows it."""

from uuid import UUID

from pydantic import AwareDatetime, BaseModel, ConfigDict, Field

from omoi_os.audit.models import ActorKind, AuditKind
from omoi_os.http.paging import Page


class AuditEntryOut(BaseModel):
    """One kind of thing that one actor did within one hour."""

    model_config = ConfigDict(from_attributes=True)

    id: UUID
    at: AwareDatetime = Field(description="When it was first seen in this hour.")
    last_at: AwareDatetime = Field(description="When it was last seen, as far as is written down yet.")
    kind: AuditKind
    actor_kind: ActorKind
    actor_id: str
    subject: str = Field(description="What it was done to, the first time.")
    detail: str
    count: int = Field(description="How often it was seen in this hour, as far as is written down yet.")


class AuditPage(Page):
    """Entries, newest first."""

    items: list[AuditEntryOut]
