"""Messages to working agents, with receipts. Each function is one step in one transaction; the caller commits."""

from collections.abc import Collection
from dataclasses import dataclass
from datetime import datetime
from enum import StrEnum
from typing import NoReturn
from uuid import UUID

from sqlalchemy.ext.asyncio import AsyncSession

from omoi_os.accounts.models import Role, User
from omoi_os.bus.base import Bus, Topic
from omoi_os.errors import Conflict, Forbidden, TooMany
from omoi_os.ids import uuid7
from omoi_os.protocol.messages import Deliver, MessageType
from omoi_os.sandboxes import message_repository, repository
from omoi_os.sandboxes.lifecycle import ALIVE, ENDED, Purpose, SandboxState
from omoi_os.sandboxes.models import Sandbox, SandboxMessage
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


def check_sender(user: User, message_type: MessageType) -> None:
    """`Forbidden` for a type that this person may not send: who speaks is never left to the request."""
    if message_type in (MessageType.USER_MESSAGE, MessageType.INTERRUPT):
        return
    if message_type == MessageType.SYSTEM and user.role == Role.ADMIN:
        return
    who = "an administrator or the platform" if message_type == MessageType.SYSTEM else "the platform only"
    raise Forbidden(f"{message_type} messages come from {who}; send a user_message or an interrupt")


async def queue(
    session: AsyncSession, bus: Bus, sandbox: Sandbox, draft: Draft, *, sender: str, now: datetime
) -> SandboxMessage:
    """Say something to a sandbox's agent. It is handed out until it is acknowledged, in the order of being said.

    `sender` is who speaks, as the caller knows it: `user:<email>`, `agent:<sandbox id>` or a part of the platform.
    `Conflict` when nobody is there to hear it, `TooMany` when too much waits already.
    """
    sandbox = await repository.lock(session, sandbox.id)
    await _check_listens(session, sandbox)
    waiting, newest = await message_repository.standing(session, sandbox.id)
    if waiting >= MAX_WAITING:
        raise TooMany(f"{waiting} messages wait for sandbox {sandbox.id} already; try again when it has taken some")
    message = SandboxMessage(
        id=_id_after(newest),
        sandbox_id=sandbox.id,
        message_type=draft.message_type,
        content=draft.content,
        deliver=draft.deliver,
        sender=sender,
        queued_at=now,
    )
    session.add(message)
    _tell(session, sandbox, message.id, MessageStatus.QUEUED, at=now)
    await session.flush()
    await bus.announce(session, Topic.MESSAGES, sandbox.id)
    return message


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
    delivered = [message_id for message_id, delivered_at in seen if delivered_at is not None]
    for message_id in delivered:
        _tell(session, sandbox, message_id, MessageStatus.SEEN, at=now)
    if delivered:
        await bus.announce(session, Topic.STREAM, "")


async def carry_over(session: AsyncSession, bus: Bus, sandbox: Sandbox, *, now: datetime) -> None:
    """What a task's earlier sandboxes were told and their agent may not have seen waits for the new one."""
    moved = await message_repository.move_unseen(session, sandbox)
    for message_id in moved:
        _tell(session, sandbox, message_id, MessageStatus.QUEUED, at=now)
    if moved:
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


async def _check_listens(session: AsyncSession, sandbox: Sandbox) -> None:
    if sandbox.purpose != Purpose.WORK:
        raise Conflict(f"sandbox {sandbox.id} verifies a result: no agent runs in it that could be told anything")
    if sandbox.status not in ALIVE or sandbox.status == SandboxState.STOPPING:
        await _refuse_ended(session, sandbox)


async def _refuse_ended(session: AsyncSession, sandbox: Sandbox) -> NoReturn:
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
    data = {"message_id": str(message_id), "status": status, "at": at.isoformat()}
    publish(session, Change.MESSAGE_STATUS, data, project_id=sandbox.project_id, sandbox_id=sandbox.id)
