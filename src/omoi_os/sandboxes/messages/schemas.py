"""Request and response bodies for messages."""

from typing import Annotated, Literal
from uuid import UUID

from pydantic import AfterValidator, AwareDatetime, BaseModel, ConfigDict, Field, StringConstraints, model_validator

from omoi_os.http.choices import AnyCase
from omoi_os.http.paging import Page
from omoi_os.http.shapes import Shown
from omoi_os.http.text import Prose
from omoi_os.protocol.messages import Deliver, MessageType
from omoi_os.sandboxes.messages.service import MessageStatus, NewMessage, status_of
from omoi_os.sandboxes.models import SandboxMessage

MAX_CONTENT_BYTES = 64 * 1024
MAX_ACKED = 1000


def _bounded(value: str) -> str:
    if len(value.encode()) > MAX_CONTENT_BYTES:
        raise ValueError(f"must be at most {MAX_CONTENT_BYTES} bytes in UTF-8; commit longer texts to the repository")
    return value


class MessageIn(BaseModel):
    """A message to a running agent. Its sender is the caller, known from the API key or session."""

    model_config = ConfigDict(
        extra="forbid",
        json_schema_extra={"example": {"content": "Also print C(10,5).", "message_type": "user_message"}},
    )

    content: Annotated[Prose, AfterValidator(_bounded)] = Field(description="The text of the message, at most 64 KiB.")
    message_type: AnyCase[MessageType] = Field(
        MessageType.USER_MESSAGE,
        description="`user_message` adds to the conversation; `interrupt` stops the current turn. Only administrators "
        "can send the other types.",
    )
    deliver: AnyCase[Deliver] | None = Field(
        None,
        description="When the agent gets it. `next_tool` (the default): after the current tool call; `now`: at once, "
        "which stops the current turn, the default for an `interrupt`; `end_of_turn`: after the current turn.",
    )

    @model_validator(mode="after")
    def _interrupts_come_now(self) -> "MessageIn":
        if self.message_type == MessageType.INTERRUPT and self.deliver not in (None, Deliver.NOW):
            raise ValueError("an interrupt is always delivered now; leave deliver out, or send a user_message")
        return self

    def outgoing(self, content: str) -> NewMessage:
        """Return the message to store, with its masked content."""
        usual = Deliver.NOW if self.message_type == MessageType.INTERRUPT else Deliver.NEXT_TOOL
        return NewMessage(content=content, message_type=self.message_type, deliver=self.deliver or usual)


class MessageQueued(Shown):
    """Confirms that a message is queued."""

    status: Literal["queued"] = Field("queued", description="Always `queued`.")
    message_id: UUID = Field(description="The message's id, by which the history shows its receipts.")
    sandbox_id: str = Field(description="The sandbox whose agent gets the message.")


class WaitingMessage(BaseModel):
    """A message as the worker receives it."""

    message_id: UUID = Field(description="The message's id.")
    message_type: MessageType = Field(
        description="`user_message` and `interrupt` come from people, `guardian_nudge` and `system` from the platform, "
        "`collaboration` from another agent."
    )
    content: str = Field(description="The text of the message.")
    deliver: Deliver = Field(
        description="When the agent gets it: after the current tool call, at once, or after the current turn."
    )
    sender: str = Field(description="`user:<email>`, `agent:<sandbox id>`, or the name of a part of the platform.")
    queued_at: AwareDatetime = Field(description="When the message was queued.")

    @classmethod
    def of(cls, row: SandboxMessage) -> "WaitingMessage":
        """Return the response for a stored message."""
        return cls(
            message_id=row.id,
            message_type=MessageType(row.message_type),
            content=row.content,
            deliver=Deliver(row.deliver),
            sender=row.sender,
            queued_at=row.queued_at,
        )


class WaitingMessages(BaseModel):
    """Messages that the worker has not acknowledged, oldest first."""

    items: list[WaitingMessage] = Field(description="The messages; empty if none arrived in time.")


class AckIn(BaseModel):
    """Messages that the worker has received."""

    model_config = ConfigDict(json_schema_extra={"example": {"message_ids": ["018f3c2e-7b1a-7c3d-9a57-3f0d2b6c1e44"]}})

    message_ids: list[Annotated[str, StringConstraints(max_length=100)]] = Field(
        max_length=MAX_ACKED, description="Ids of the messages that need not be handed out again."
    )


class AckOut(BaseModel):
    """The result of an acknowledgement. Repeating it changes nothing."""

    acknowledged: list[str] = Field(description="Ids that are acknowledged now or were before.")
    unknown: list[str] = Field(description="Ids that are not messages of this sandbox.")


class MessageOut(WaitingMessage):
    """A message with its receipts."""

    status: MessageStatus = Field(
        description="`queued`: stored; `delivered`: the worker has handed it to the agent; `seen`: it was part of a "
        "request to the model."
    )
    delivered_at: AwareDatetime | None = Field(
        description="When the worker handed the message to the agent; null before that."
    )
    seen_at: AwareDatetime | None = Field(
        description="When the message was first part of a request to the model; null before that."
    )
    redeliveries: int = Field(
        description="How often the message was queued again because the conversation that contained it was lost."
    )

    @classmethod
    def of(cls, row: SandboxMessage) -> "MessageOut":
        """Return the response for a stored message."""
        status = status_of(row)
        return cls(
            **dict(WaitingMessage.of(row)),
            status=status,
            delivered_at=row.delivered_at,
            seen_at=row.seen_at if status == MessageStatus.SEEN else None,
            redeliveries=row.redeliveries,
        )


class MessagePage(Page):
    """Messages to a sandbox."""

    items: list[MessageOut] = Field(description="The messages on this page.")
    sandbox_id: str = Field(description="The sandbox that the messages were sent to.")
