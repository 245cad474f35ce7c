"""Messages to working agents, with receipts. Each function is one step in one transaction; the caller commits."""

from collections.abc import Collection
from dataclasses import dataclass
from datetime import datetime
from enum import StrEnum
from typing import NoReturn
from uuid import UUID

from sqlalchemy.ext.asyncio import AsyncSession

from omoi_os.accounts.models import User
from omoi_os.bus.base import Bus, Topic
from omoi_os.errors import Conflict, Forbidden, TooMany
from omoi_os.ids import uuid7
from omoi_os.projects.repository import owner_seen_by
from omoi_os.protocol.messages import Deliver, MessageType
from omoi_os.sandboxes import repository
from omoi_os.sandboxes.lifecycle import ALIVE, ENDED, Purpose, SandboxState
from omoi_os.sandboxes.messages import mailbox
from omoi_os.sandboxes.messages import repository as message_repository
from omoi_os.sandboxes.messages.mailbox import Saying, Standing
from omoi_os.sandboxes.models import Sandbox, SandboxMessage
from omoi_os.sandboxes.outcomes import transcripts
from omoi_os.stream.models import Change
from omoi_os.stream.outbox import publish
from omoi_os.tasks.models import Task

#: How many messages may wait for one agent.
MAX_WAITING = 100

_RANDOM_BITS = 80


class MessageStatus(StrEnum):
    """How far a message has come."""

    QUEUED = "queued"  #: stored; the worker fetches it
    DELIVERED = "delivered"  #: the worker has handed it to the agent
    SEEN = "seen"  #: it was in a request to the model


@dataclass(frozen=True, slots=True)
class Draft:
    """What is to be said, and when."""

    content: str
    message_type: MessageType
    deliver: Deliver


@dataclass(frozen=True, slots=True)
class Speaker:
    """Who says it: a person, another agent, or a part of the platform."""

    #: As everyone is shown it: `user:<email>`, `agent:<sandbox id>` or the part's name.
    sender: str
    #: Whose sandboxes alone they may speak to; None for everyone's.
    owner: UUID | None = None

    @classmethod
    def person(cls, user: User) -> "Speaker":
        """Someone with a key or a browser."""
        return cls(f"user:{user.email}", owner_seen_by(user.id, user.role))


def check_sender(user: User, message_type: MessageType) -> None:
    """`Forbidden` for a type that this person may not send. An administrator may speak for the platform; whose words
    they are is recorded whatever the type."""
    if message_type in (MessageType.USER_MESSAGE, MessageType.INTERRUPT) or user.is_admin:
        return
    raise Forbidden(
        f"{message_type} messages come from the platform or an administrator; send a user_message or an interrupt"
    )


async def queue(session: AsyncSession, bus: Bus, sandbox_id: str, draft: Draft, *, by: Speaker, now: datetime) -> UUID:
    """Say something to a sandbox's agent and return the message's id. It is handed out until it is acknowledged, in
    the order of being said.

    `NotFound` when there is no such sandbox for who speaks, `Conflict` when nobody is there to hear it, `TooMany` when
    too much waits already.
    """
    standing = await mailbox.hold(session, sandbox_id, owner=by.owner)
    if standing is None:
        raise repository.missing(sandbox_id)
    await _check_listens(session, standing)
    if standing.waiting >= MAX_WAITING:
        many = f"{standing.waiting} messages wait for sandbox {sandbox_id} already"
        raise TooMany(f"{many}; try again when it has taken some")
    message_id = _id_after(standing.newest)
    told = _told(message_id, MessageStatus.QUEUED, at=now)
    saying = Saying(message_id, draft.message_type, draft.content, draft.deliver, by.sender, now, told)
    await mailbox.say(session, bus, standing, saying)
    return message_id


async def acknowledge(session: AsyncSession, sandbox: Sandbox, ids: Collection[UUID], *, now: datetime) -> set[UUID]:
    """The worker has these; returns those of them that are its own. Again changes nothing."""
    sandbox = await repository.lock(session, sandbox.id)
    return await message_repository.acknowledge(session, sandbox.id, ids, now=now) if ids else set()


async def mark_delivered(session: AsyncSession, bus: Bus, sandbox: Sandbox, message_id: object, now: datetime) -> None:
    """The worker has handed a message to the agent. The caller holds the sandbox's row.

    `message_id` is whatever the event says; what is not the id of a message of this sandbox, or a second
    report of the same one, changes nothing.
    """
    known = as_id(message_id)
    moments = await message_repository.deliver(session, sandbox.id, known, now=now) if known else None
    if known is None or moments is None:
        return
    delivered_at, seen_at = moments
    _tell(session, sandbox, known, MessageStatus.DELIVERED, at=delivered_at)
    if seen_at is not None:
        _tell(session, sandbox, known, MessageStatus.SEEN, at=seen_at)
    await bus.announce(session, Topic.STREAM, "")


async def mark_seen(session: AsyncSession, bus: Bus, sandbox_id: str, ids: Collection[UUID], *, now: datetime) -> None:
    """These marks were in a request of this sandbox to the model.

    The event that tells of a delivery may come later than the request. Until it does, nobody is told that the
    message was seen, so a mark that is only written somewhere proves nothing.
    """
    sandbox = await repository.lock(session, sandbox_id)
    if sandbox.status in ENDED:
        return
    seen = await message_repository.see(session, sandbox.id, ids, now=now)
    told = [(message_id, seen_at) for message_id, delivered_at, seen_at in seen if delivered_at is not None]
    for message_id, seen_at in told:
        _tell(session, sandbox, message_id, MessageStatus.SEEN, at=seen_at)
    if told:
        await bus.announce(session, Topic.STREAM, "")


async def carry_over(session: AsyncSession, bus: Bus, sandbox: Sandbox, *, now: datetime) -> None:
    """Queue for a task's new sandbox what the conversation that it resumes does not carry, even if it was seen before:
    the conversation in which it was seen is gone."""
    resumed = await transcripts.resumed_by(session, sandbox)
    kept_in = resumed.sandbox_id if resumed else None
    moved = await message_repository.move_lost(session, sandbox, kept_in=kept_in)
    if kept_in is not None:
        await message_repository.move_carried(session, sandbox, kept_in=kept_in, now=now)
    await _tell_queued(session, bus, sandbox, moved, now=now)


async def redeliver(session: AsyncSession, bus: Bus, sandbox: Sandbox, *, now: datetime) -> None:
    """Queue every message of the task again: the agent starts without the conversation that carried them. The caller
    holds the sandbox's row."""
    moved = await message_repository.requeue_all(session, sandbox)
    await _tell_queued(session, bus, sandbox, moved, now=now)


async def _tell_queued(
    session: AsyncSession, bus: Bus, sandbox: Sandbox, ids: Collection[UUID], *, now: datetime
) -> None:
    for message_id in ids:
        _tell(session, sandbox, message_id, MessageStatus.QUEUED, at=now)
    if ids:
        await bus.announce(session, Topic.MESSAGES, sandbox.id)


def status_of(message: SandboxMessage) -> MessageStatus:
    """How far it has come. Seen counts only for what was delivered."""
    if message.delivered_at is None:
        return MessageStatus.QUEUED
    return MessageStatus.DELIVERED if message.seen_at is None else MessageStatus.SEEN


def as_id(value: object) -> UUID | None:
    """A message's id in its one form; None for anything else."""
    try:
        found = UUID(value) if isinstance(value, str) else None
    except ValueError:
        return None
    return found if str(found) == value else None


async def _check_listens(session: AsyncSession, sandbox: Standing) -> None:
    if sandbox.purpose != Purpose.WORK:
        raise Conflict(f"sandbox {sandbox.id} verifies a result: no agent runs in it that could be told anything")
    if sandbox.status not in ALIVE or sandbox.status == SandboxState.STOPPING:
        await _refuse_ended(session, sandbox)


async def _refuse_ended(session: AsyncSession, sandbox: Standing) -> NoReturn:
    state = "is stopping" if sandbox.status == SandboxState.STOPPING else f"has ended ({sandbox.end_reason})"
    task = await session.get_one(Task, sandbox.task_id)
    retry = f'POST /api/v1/tasks/{task.id}/retry {{"message": …}} tells it to the next attempt once the task has failed'
    if task.sandbox_id not in (None, sandbox.id):
        retry += f"; the task goes on in sandbox {task.sandbox_id}, which can be told at once"
    raise Conflict(f"sandbox {sandbox.id} {state}: {retry}")


def _id_after(newest: UUID | None) -> UUID:
    """An id that nobody can guess and that sorts behind the newest, whatever the clocks of the API's processes say."""
    made = uuid7()
    if newest is None or made > newest:
        return made
    random = made.int & ((1 << _RANDOM_BITS) - 1)
    return UUID(int=((newest.int >> _RANDOM_BITS) + 1) << _RANDOM_BITS | random)


def _tell(session: AsyncSession, sandbox: Sandbox, message_id: UUID, status: MessageStatus, *, at: datetime) -> None:
    data = _told(message_id, status, at=at)
    publish(session, Change.MESSAGE_STATUS, data, project_id=sandbox.project_id, sandbox_id=sandbox.id)


def _told(message_id: UUID, status: MessageStatus, *, at: datetime) -> dict[str, str]:
    return {"message_id": str(message_id), "status": status, "at": at.isoformat()}
