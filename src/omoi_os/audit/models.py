"""The table of the audit trail and its kinds of entries."""

from datetime import datetime
from enum import StrEnum
from uuid import UUID

from sqlalchemy import BigInteger, UniqueConstraint
from sqlalchemy.orm import Mapped, mapped_column

from omoi_os.db.base import Base
from omoi_os.ids import uuid7


class AuditKind(StrEnum):
    """What happened."""

    FOREIGN_SANDBOX = "foreign_sandbox"  #: a sandbox's token was used on another sandbox's place
    CHANGED_EVENT = "changed_event"  #: a posted number came again with other content; the first one stays
    UNSAVED_WORK_DROPPED = "unsaved_work_dropped"  #: the disk of a sandbox was removed before its work was saved
    REFUSED_CALL = "refused_call"  #: a sandbox asked for something that it may not do
    USER_ADDED = "user_added"
    USER_CHANGED = "user_changed"  #: another name or role, or activated again
    USER_DEACTIVATED = "user_deactivated"
    KEY_CREATED = "key_created"
    KEY_REVOKED = "key_revoked"
    SESSION_ENDED = "session_ended"  #: a browser was signed out from elsewhere
    REF_PUSHED = "ref_pushed"  #: a person pushed a branch or tag, from one commit to another
    SIGN_IN_LINK_CREATED = "sign_in_link_created"  #: a link that signs a browser in as the user once
    MEMBER_ADDED = "member_added"  #: a user may use a project
    MEMBER_CHANGED = "member_changed"  #: a member has another role
    MEMBER_REMOVED = "member_removed"
    CREDENTIAL_ADDED = "credential_added"
    CREDENTIAL_DELETED = "credential_deleted"
    EVENT_GAP = "event_gap"  #: a posted number is missing for too long; nothing beyond it is stored


class ActorKind(StrEnum):
    """Who caused an entry."""

    SANDBOX = "sandbox"  #: its worker, its agent, or another program with its token
    USER = "user"  #: a person, by their e-mail address
    PLATFORM = "platform"  #: the platform itself


class AuditEntry(Base):
    """One kind of action of one sandbox within one hour, with a count; or one change by a person."""

    __tablename__ = "audit_entries"
    __table_args__ = (UniqueConstraint("actor_kind", "actor_id", "kind", "hour"),)

    id: Mapped[UUID] = mapped_column(primary_key=True, default=uuid7)
    #: When it was first seen, the hour of that (for a person the moment itself), and when it was last seen.
    at: Mapped[datetime] = mapped_column(index=True)
    hour: Mapped[datetime]
    last_at: Mapped[datetime]
    kind: Mapped[str]
    actor_kind: Mapped[str]
    actor_id: Mapped[str]
    #: The object and the details of the first occurrence.
    subject: Mapped[str]
    detail: Mapped[str]
    count: Mapped[int] = mapped_column(BigInteger)
