"""Response bodies for the audit trail."""

from uuid import UUID

from pydantic import AwareDatetime, BaseModel, ConfigDict, Field

from omoi_os.audit.models import ActorKind, AuditKind
from omoi_os.http.paging import Page


class AuditEntryOut(BaseModel):
    """One kind of action by one actor within one hour, with the number of times; or one change by a person."""

    model_config = ConfigDict(from_attributes=True)

    id: UUID = Field(description="The entry's id; newer entries have greater ids.")
    at: AwareDatetime = Field(description="When the action was first recorded in this hour.")
    last_at: AwareDatetime = Field(description="When the action was last recorded. Repetitions are added with a delay.")
    kind: AuditKind = Field(description="What happened, such as `refused_call` or `key_created`.")
    actor_kind: ActorKind = Field(description="Whether a sandbox, a user or the platform acted.")
    actor_id: str = Field(description="The sandbox's id, the user's e-mail address, or the name of the platform part.")
    subject: str = Field(description="What the first of these actions was about, such as a path or a user.")
    detail: str = Field(description="The circumstances of the first of these actions, in one line.")
    count: int = Field(description="How often it happened in this hour. Repetitions are added with a delay.")


class AuditPage(Page):
    """Audit entries, newest first."""

    items: list[AuditEntryOut] = Field(description="The entries on this page.")
