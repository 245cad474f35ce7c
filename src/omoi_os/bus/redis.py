"""The bus on Redis: wake-ups are published after the commit by a background task."""

import asyncio
import contextlib
import logging
import time
from collections.abc import AsyncIterator, Sequence
from contextlib import asynccontextmanager
from functools import partial

from redis.asyncio import Redis
from redis.asyncio.retry import Retry
from redis.backoff import NoBackoff
from redis.exceptions import RedisError
from sqlalchemy.ext.asyncio import AsyncSession
from sqlalchemy.orm import Session

from omoi_os.bus.base import Announcement, Notice, Topic, Wakeup
from omoi_os.bus.inbox import Inbox
from omoi_os.db.at_commit import collect

log = logging.getLogger(__name__)

CHANNEL = "omoi"
#: What is published when announcements were lost.
RESYNC = "*"
RECONNECT_SECONDS = 0.5
ANSWER_SECONDS = 5.0
#: A process may die between its commit and its announcement, so listeners resync this often.
SAFETY_SECONDS = 10.0
#: The longest queue of announcements; a longer one is replaced by a resync.
MAX_WAITING = 10_000


class RedisBus:
    """Publish without waiting for Redis, which may be unavailable at any time; listeners then get a `resync`."""

    def __init__(self, url: str, *, safety_seconds: float = SAFETY_SECONDS) -> None:
        self._client = Redis.from_url(
            url, retry=Retry(NoBackoff(), 0), socket_connect_timeout=ANSWER_SECONDS, socket_timeout=ANSWER_SECONDS
        )
        self._safety_seconds = safety_seconds
        self._waiting: list[Announcement] = []
        self._missed = False
        self._publisher: asyncio.Task[None] | None = None

    async def close(self) -> None:
        """Publish queued announcements if Redis accepts them at once, and disconnect."""
        if self._publisher is not None:
            await asyncio.wait({self._publisher}, timeout=1.0)
            self._publisher.cancel()
            await asyncio.gather(self._publisher, return_exceptions=True)
        await self._client.aclose()

    async def announce(self, session: AsyncSession, topic: Topic, key: str) -> None:
        """Publish the wake-up when the session commits; drop it when it rolls back."""
        collect("after_commit", session, (topic, key), self._committed)

    def notice(self, topic: Topic, key: str) -> Notice:
        """Return a wake-up that the caller publishes after its commit."""
        return Notice(committed=partial(self._send, [(topic, key)]))

    def _committed(self, _session: Session, announced: Sequence[Announcement]) -> None:
        self._send(announced)

    def _send(self, announced: Sequence[Announcement]) -> None:
        if len(self._waiting) + len(announced) <= MAX_WAITING:
            self._waiting += announced
        else:
            self._missed = True
        if self._publisher is None or self._publisher.done():
            self._publisher = asyncio.create_task(self._publish())

    async def _publish(self) -> None:
        """Publish until the queue is empty. Announcements that Redis refuses are replaced by a resync later."""
        while self._waiting or self._missed:
            batch, self._waiting = self._waiting, []
            payloads = [f"{topic}:{key}" for topic, key in dict.fromkeys(batch)] + [RESYNC] * self._missed
            try:
                async with self._client.pipeline(transaction=False) as pipeline:
                    for payload in payloads:
                        pipeline.publish(CHANNEL, payload)
                    await pipeline.execute()
                self._missed = False
            except (RedisError, OSError) as error:
                if not self._missed:
                    log.warning("bus: Redis accepts no announcements, retrying: %s", error)
                self._missed = True
                await asyncio.sleep(RECONNECT_SECONDS)

    @asynccontextmanager
    async def listen(self, *topics: Topic) -> AsyncIterator[AsyncIterator[Wakeup]]:
        """Receive wake-ups of these topics. Each connection starts with a `resync`; without one there is one too."""
        inbox = Inbox(topics)
        tried = asyncio.Event()
        task = asyncio.create_task(self._receive(inbox, tried))
        try:
            await tried.wait()
            yield inbox.wakeups()
        finally:
            task.cancel()
            with contextlib.suppress(asyncio.CancelledError):
                await task

    async def _receive(self, inbox: Inbox, tried: asyncio.Event) -> None:
        while True:
            try:
                await self._receive_once(inbox, tried)
            except (RedisError, OSError) as error:
                log.warning("bus: connection to Redis lost, reconnecting: %s", error)
            inbox.resync()
            tried.set()
            await asyncio.sleep(RECONNECT_SECONDS)

    async def _receive_once(self, inbox: Inbox, tried: asyncio.Event) -> None:
        """Receive on one connection until it is lost."""
        async with self._client.pubsub() as pubsub:
            await pubsub.subscribe(CHANNEL)
            looked = time.monotonic()
            while True:
                rest = self._safety_seconds - (time.monotonic() - looked)
                message = await pubsub.get_message(timeout=max(0.0, rest))
                payload = message["data"].decode(errors="replace") if message and message["type"] == "message" else ""
                if message is None or message["type"] == "subscribe" or payload == RESYNC:
                    if message is None:
                        await pubsub.ping()
                    inbox.resync()
                    tried.set()
                    looked = time.monotonic()
                elif payload:
                    topic, _, key = payload.partition(":")
                    inbox.put(topic, key)
