"""Messages to running agents, with receipts. Each function runs in the caller's transaction."""

from collections.abc import Collection
from dataclasses import dataclass
from datetime import datetime
from enum import StrEnum
from uuid import UUID

from sqlalchemy.ext.asyncio import AsyncSession

from omoi_os.accounts.models import User
from omoi_os.bus.base import Bus, Topic
from omoi_os.errors import Conflict, Forbidden, TooMany
from omoi_os.ids import uuid7
from omoi_os.projects import permissions
from omoi_os.projects.permissions import Permission
from omoi_os.protocol.messages import Deliver, MessageType
from omoi_os.sandboxes import repository
from omoi_os.sandboxes.artifacts import transcripts
from omoi_os.sandboxes.lifecycle import ALIVE, ENDED, Purpose, SandboxState
from omoi_os.sandboxes.messages import mailbox
from omoi_os.sandboxes.messages import repository as message_repository
from omoi_os.sandboxes.messages.mailbox import Recipient, StoredMessage
from omoi_os.sandboxes.models import Sandbox, SandboxMessage
from omoi_os.stream.models import Change
from omoi_os.stream.outbox import publish
from omoi_os.tasks.lifecycle import TERMINAL, TaskState
from omoi_os.tasks.models import Task
from omoi_os.visibility import restricted_to

#: How many unacknowledged messages one sandbox may have.
MAX_QUEUED = 100

_RANDOM_BITS = 80


class MessageStatus(StrEnum):
    """How far the delivery of a message has got."""

    QUEUED = "queued"  #: stored; the worker will fetch it
    DELIVERED = "delivered"  #: the worker has handed it to the agent
    SEEN = "seen"  #: it was part of a request to the model


@dataclass(frozen=True, slots=True)
class NewMessage:
    """The text of a message, and when to deliver it."""

    content: str
    message_type: MessageType
    deliver: Deliver


@dataclass(frozen=True, slots=True)
class Sender:
    """The sender of a message: a person, another agent, or a part of the platform."""

    #: The name that is stored and shown: `user:<email>`, `agent:<sandbox id>` or the name of the part.
    name: str
    #: The user whose projects alone it may send to, from `visibility.restricted_to`; None for every project.
    viewer: UUID | None = None

    @classmethod
    def person(cls, user: User) -> "Sender":
        """Return the sender for a user."""
        return cls(f"user:{user.email}", restricted_to(user.id, user.role))


def check_sender(user: User, message_type: MessageType) -> None:
    """Raise `Forbidden` for a type that this user may not send.

    An administrator may send every type; the sender that is recorded is always the user.
    """
    if message_type in (MessageType.USER_MESSAGE, MessageType.INTERRUPT) or user.is_admin:
        return
    raise Forbidden(
        f"only the platform and administrators can send a {message_type}; send a user_message or an interrupt"
    )


async def queue(
    session: AsyncSession, bus: Bus, sandbox_id: str, message: NewMessage, *, sender: Sender, now: datetime
) -> UUID:
    """Queue a message for a sandbox's agent and return its id.

    Messages are handed out in the order in which they were sent, until they are acknowledged. Raise `NotFound` if the
    sender may not see the sandbox, `Forbidden` if they may only read, `Conflict` if no agent can receive the message,
    and `TooMany` if the queue is full.
    """
    recipient = await mailbox.lock(session, sandbox_id, viewer=sender.viewer)
    if recipient is None:
        raise repository.missing(sandbox_id)
    if sender.viewer is not None and not permissions.may_run(str(recipient.role)):
        raise permissions.refusal(str(recipient.role), Permission.RUN)
    await _check_receives(session, recipient)
    if recipient.queued >= MAX_QUEUED:
        full = f"sandbox {sandbox_id} has {recipient.queued} queued messages"
        raise TooMany(f"{full}; try again when its agent has received some")
    message_id = _id_after(recipient.newest)
    published = _status_change(message_id, MessageStatus.QUEUED, at=now)
    stored = StoredMessage(
        message_id, message.message_type, message.content, message.deliver, sender.name, now, published
    )
    await mailbox.enqueue(session, bus, recipient, stored)
    return message_id


async def acknowledge(session: AsyncSession, sandbox: Sandbox, ids: Collection[UUID], *, now: datetime) -> set[UUID]:
    """Acknowledge messages for the worker; return the ids that are its own. Can be repeated."""
    sandbox = await repository.lock(session, sandbox.id)
    return await message_repository.acknowledge(session, sandbox.id, ids, now=now) if ids else set()


async def mark_delivered(session: AsyncSession, bus: Bus, sandbox: Sandbox, message_id: object, now: datetime) -> None:
    """Record that the worker has handed a message to the agent. The caller holds the lock on the sandbox's row.

    `message_id` comes from an event: anything but the id of a message of this sandbox is ignored, and so is a repeated
    report.
    """
    known = as_id(message_id)
    moments = await message_repository.deliver(session, sandbox.id, known, now=now) if known else None
    if known is None or moments is None:
        return
    delivered_at, seen_at = moments
    _publish(session, sandbox, known, MessageStatus.DELIVERED, at=delivered_at)
    if seen_at is not None:
        _publish(session, sandbox, known, MessageStatus.SEEN, at=seen_at)
    await bus.announce(session, Topic.STREAM, "")


async def mark_seen(session: AsyncSession, bus: Bus, sandbox_id: str, ids: Collection[UUID], *, now: datetime) -> None:
    """Record that these messages were part of a request of this sandbox to the model.

    The event that reports the delivery may arrive later than the request. The receipt is published only after both, so
    a message id that merely appears in a request proves nothing.
    """
    sandbox = await repository.lock(session, sandbox_id)
    if sandbox.status in ENDED:
        return
    seen = await message_repository.see(session, sandbox.id, ids, now=now)
    delivered = [(message_id, seen_at) for message_id, delivered_at, seen_at in seen if delivered_at is not None]
    for message_id, seen_at in delivered:
        _publish(session, sandbox, message_id, MessageStatus.SEEN, at=seen_at)
    if delivered:
        await bus.announce(session, Topic.STREAM, "")


async def carry_over(session: AsyncSession, bus: Bus, sandbox: Sandbox, *, now: datetime) -> None:
    """Queue the messages for a task's new sandbox that the conversation it resumes does not contain.

    That includes messages that were seen: the conversation in which they were seen is lost.
    """
    resumed = await transcripts.resumed_by(session, sandbox)
    kept_in = resumed.sandbox_id if resumed else None
    moved = await message_repository.move_lost(session, sandbox, kept_in=kept_in)
    if kept_in is not None:
        await message_repository.move_carried(session, sandbox, kept_in=kept_in, now=now)
    await _publish_queued(session, bus, sandbox, moved, now=now)


async def redeliver(session: AsyncSession, bus: Bus, sandbox: Sandbox, *, now: datetime) -> None:
    """Queue every message of the task again, because the agent starts without its earlier conversation.

    The caller holds the lock on the sandbox's row.
    """
    moved = await message_repository.requeue_all(session, sandbox)
    await _publish_queued(session, bus, sandbox, moved, now=now)


async def _publish_queued(
    session: AsyncSession, bus: Bus, sandbox: Sandbox, ids: Collection[UUID], *, now: datetime
) -> None:
    for message_id in ids:
        _publish(session, sandbox, message_id, MessageStatus.QUEUED, at=now)
    if ids:
        await bus.announce(session, Topic.MESSAGES, sandbox.id)


def status_of(message: SandboxMessage) -> MessageStatus:
    """Return the status of a message. It counts as seen only once it is delivered."""
    if message.delivered_at is None:
        return MessageStatus.QUEUED
    return MessageStatus.DELIVERED if message.seen_at is None else MessageStatus.SEEN


def as_id(value: object) -> UUID | None:
    """Return a message id in its canonical form; None for anything else."""
    try:
        found = UUID(value) if isinstance(value, str) else None
    except ValueError:
        return None
    return found if str(found) == value else None


async def _check_receives(session: AsyncSession, sandbox: Recipient) -> None:
    if sandbox.purpose != Purpose.WORK:
        raise Conflict(f"sandbox {sandbox.id} verifies a result and runs no agent that could receive a message")
    if sandbox.status in ALIVE and sandbox.status != SandboxState.STOPPING:
        return
    state = "is stopping" if sandbox.status == SandboxState.STOPPING else f"has ended ({sandbox.end_reason})"
    if sandbox.task_id is None:
        raise Conflict(f"sandbox {sandbox.id} of spec {sandbox.spec_id} {state} and takes no more messages")
    task = await session.get_one(Task, sandbox.task_id)
    raise Conflict(f"sandbox {sandbox.id} {state}; {_call_that_works(task, sandbox.id)}")


def _call_that_works(task: Task, sandbox_id: str) -> str:
    """Return the call that reaches the agent of a task whose sandbox has ended, in its present state."""
    retry = f'POST /api/v1/tasks/{task.id}/retry {{"message": …}}'
    if task.status == TaskState.FAILED:
        return f"send the message to the next attempt with {retry}"
    if task.status in TERMINAL:
        create = f'POST /api/v1/tasks {{"ticket_id": "{task.ticket_id}", "title": …}}'
        return f"its task is {task.status}, and only a failed task can be retried: create a new one with {create}"
    if task.sandbox_id not in (None, sandbox_id):
        return f"its task continues in another sandbox: POST /api/v1/sandboxes/{task.sandbox_id}/messages"
    return (
        f"its task is {task.status}: wait for its next sandbox in GET /api/v1/tasks/{task.id}, or if it fails, {retry}"
    )


def _id_after(newest: UUID | None) -> UUID:
    """Return an unguessable id that sorts behind the newest one, even if the clocks of the API processes differ."""
    created = uuid7()
    if newest is None or created > newest:
        return created
    random = created.int & ((1 << _RANDOM_BITS) - 1)
    return UUID(int=((newest.int >> _RANDOM_BITS) + 1) << _RANDOM_BITS | random)


def _publish(session: AsyncSession, sandbox: Sandbox, message_id: UUID, status: MessageStatus, *, at: datetime) -> None:
    data = _status_change(message_id, status, at=at)
    publish(session, Change.MESSAGE_STATUS, data, project_id=sandbox.project_id, sandbox_id=sandbox.id)


def _status_change(message_id: UUID, status: MessageStatus, *, at: datetime) -> dict[str, str]:
    return {"message_id": str(message_id), "status": status, "at": at.isoformat()}
