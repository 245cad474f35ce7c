"""The bus's interface. A lost wake-up costs time, never a fact: all facts are in the tables."""

from collections.abc import AsyncIterator, Callable
from contextlib import AbstractAsyncContextManager
from dataclasses import dataclass
from enum import StrEnum
from typing import Protocol

from sqlalchemy.ext.asyncio import AsyncSession


class Topic(StrEnum):
    """What has changed."""

    TASKS = "tasks"  #: a task was created or changed its state; the key is its id
    WORK = "work"  #: there may be something for an orchestrator to do; there is no key
    SANDBOXES = "sandboxes"  #: a sandbox's row was made or changed its state; the key is its id
    MESSAGES = "messages"  #: something was said to a sandbox's agent; the key is the sandbox's id
    ACCESS = "access"  #: a key, a session or a user's rights have changed; the key is the user's id
    CREDENTIALS = "credentials"  #: a credential was added, deleted or encrypted again; the key is its id
    STREAM = "stream"  #: events were added; there is no key. Readers of the outbox listen to every topic


#: A wake-up to send: what has changed, and its key.
Announcement = tuple[Topic, str]


@dataclass(frozen=True, slots=True)
class Wakeup:
    """Something about `key` has changed. `resync` means that anything may have changed."""

    topic: Topic
    key: str
    resync: bool = False


@dataclass(frozen=True, slots=True)
class Notice:
    """A wake-up of a transaction on a bare connection: what to notify in it, and what to call after its commit."""

    channel: str = ""
    payload: str | None = None
    committed: Callable[[], None] | None = None


class Bus(Protocol):
    """Send and receive wake-ups."""

    async def announce(self, session: AsyncSession, topic: Topic, key: str) -> None:
        """Wake the listeners when the session's transaction commits, and not if it rolls back."""

    def notice(self, topic: Topic, key: str) -> Notice:
        """Return the wake-up of a transaction on a bare connection, for the caller to send."""

    def listen(self, *topics: Topic) -> AbstractAsyncContextManager[AsyncIterator[Wakeup]]:
        """Receive wake-ups from now on. A `resync` comes first, and again after every lost connection."""
