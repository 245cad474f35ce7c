"""The bus: wake-ups between processes. A lost one costs a moment, never a fact: the truth is in the tables."""

from collections.abc import AsyncIterator, Callable
from contextlib import AbstractAsyncContextManager
from dataclasses import dataclass
from enum import StrEnum
from typing import Protocol

from sqlalchemy.ext.asyncio import AsyncSession


class Topic(StrEnum):
    """What has changed."""

    TASKS = "tasks"  #: a task may be ready to be dispatched, verified or stopped; the key is its id
    SANDBOXES = "sandboxes"  #: a sandbox's row was made or changed its state; the key is its id
    MESSAGES = "messages"  #: something was said to a sandbox's agent; the key is the sandbox's id
    ACCESS = "access"  #: a key, a session or a user's rights have changed; the key is the user's id
    STREAM = "stream"  #: events were added; there is no key. Whoever reads the outbox listens to every topic


@dataclass(frozen=True, slots=True)
class Wakeup:
    """Something about `key` has changed. `resync` means: anything may have, look at everything."""

    topic: Topic
    key: str
    resync: bool = False


@dataclass(frozen=True, slots=True)
class Notice:
    """A wake-up for a transaction on a bare connection: what that has to notify, and what is to be called behind it."""

    channel: str = ""
    payload: str | None = None
    committed: Callable[[], None] | None = None


class Bus(Protocol):
    """Carries wake-ups."""

    async def announce(self, session: AsyncSession, topic: Topic, key: str) -> None:
        """Wake the listeners once the session's transaction has committed; never if it has not."""

    def notice(self, topic: Topic, key: str) -> Notice:
        """The same for a transaction on a bare connection, which does with it what it says."""

    def listen(self, *topics: Topic) -> AbstractAsyncContextManager[AsyncIterator[Wakeup]]:
        """Wake-ups from now on. A `resync` comes first, and again after every lost connection."""
