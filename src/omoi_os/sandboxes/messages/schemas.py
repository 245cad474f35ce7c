"""Messages as the API takes and shows them."""

from typing import Annotated, Literal
from uuid import UUID

from pydantic import AfterValidator, AwareDatetime, BaseModel, ConfigDict, Field, StringConstraints, model_validator

from omoi_os.http.paging import Page
from omoi_os.http.shapes import Shown
from omoi_os.http.text import Prose
from omoi_os.protocol.messages import Deliver, MessageType
from omoi_os.sandboxes.messages.service import Draft, MessageStatus, status_of
from omoi_os.sandboxes.models import SandboxMessage

MAX_CONTENT_BYTES = 64 * 1024
MAX_ACKED = 1000


def _bounded(value: str) -> str:
    if len(value.encode()) > MAX_CONTENT_BYTES:
        raise ValueError(f"must be at most {MAX_CONTENT_BYTES} bytes; put longer texts into the repository")
    return value


class MessageIn(BaseModel):
    """Something to say to a working agent. Who says it is known from the key, not from the body."""

    model_config = ConfigDict(
        extra="forbid",
        json_schema_extra={"example": {"content": "Also print C(10,5).", "message_type": "user_message"}},
    )

    content: Annotated[Prose, AfterValidator(_bounded)] = Field(description="At most 64 KiB of text.")
    message_type: MessageType = Field(
        MessageType.USER_MESSAGE,
        description="People send `user_message` and `interrupt`, administrators every type.",
    )
    deliver: Deliver | None = Field(
        None,
        description="`next_tool` (the default): at the agent's next tool boundary; `now`: its turn is stopped at once, "
        "which is what an `interrupt` does; `end_of_turn`: when the turn is over.",
    )

    @model_validator(mode="after")
    def _interrupts_come_now(self) -> "MessageIn":
        if self.message_type == MessageType.INTERRUPT and self.deliver not in (None, Deliver.NOW):
            raise ValueError("an interrupt is delivered now; leave `deliver` out or send a user_message")
        return self

    def draft(self, content: str) -> Draft:
        """As the platform passes it on, with the content that is stored."""
        usual = Deliver.NOW if self.message_type == MessageType.INTERRUPT else Deliver.NEXT_TOOL
        return Draft(content=content, message_type=self.message_type, deliver=self.deliver or usual)


class MessageQueued(Shown):
    """It is stored and will be delivered."""

    status: Literal["queued"] = "queued"
    message_id: UUID
    sandbox_id: str


class WaitingMessage(BaseModel):
    """One message for the agent; the same as `protocol.messages.Message`."""

    message_id: UUID
    message_type: MessageType
    content: str
    deliver: Deliver
    sender: str = Field(description="`user:<email>`, `agent:<sandbox id>`, or the part of the platform that speaks.")
    queued_at: AwareDatetime

    @classmethod
    def of(cls, row: SandboxMessage) -> "WaitingMessage":
        """As the worker gets it."""
        return cls(
            message_id=row.id,
            message_type=MessageType(row.message_type),
            content=row.content,
            deliver=Deliver(row.deliver),
            sender=row.sender,
            queued_at=row.queued_at,
        )


class WaitingMessages(BaseModel):
    """What is not acknowledged yet, oldest first."""

    items: list[WaitingMessage]


class AckIn(BaseModel):
    """The worker has these and wants them no more."""

    model_config = ConfigDict(json_schema_extra={"example": {"message_ids": ["018f3c2e-7b1a-7c3d-9a57-3f0d2b6c1e44"]}})

    message_ids: list[Annotated[str, StringConstraints(max_length=100)]] = Field(max_length=MAX_ACKED)


class AckOut(BaseModel):
    """What became of an acknowledgement. Repeating it changes nothing."""

    acknowledged: list[str]
    unknown: list[str] = Field(description="Not messages of this sandbox.")


class MessageOut(WaitingMessage):
    """One message with its receipts."""

    status: MessageStatus
    delivered_at: AwareDatetime | None = Field(description="The worker had handed it to the agent.")
    seen_at: AwareDatetime | None = Field(description="It was in a request to the model.")
    redeliveries: int = Field(
        description="How often it was queued again after a delivery, because the conversation that carried it was lost."
    )

    @classmethod
    def of(cls, row: SandboxMessage) -> "MessageOut":
        """As people see it."""
        status = status_of(row)
        return cls(
            **dict(WaitingMessage.of(row)),
            status=status,
            delivered_at=row.delivered_at,
            seen_at=row.seen_at if status == MessageStatus.SEEN else None,
            redeliveries=row.redeliveries,
        )


class MessagePage(Page):
    """What was said to a sandbox."""

    items: list[MessageOut]
    sandbox_id: str
