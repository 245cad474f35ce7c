"""The one writer of an API process: whatever arrived during the last commit goes into the next one."""

import asyncio
import logging
from collections import deque
from collections.abc import AsyncIterator, Coroutine, Sequence
from contextlib import asynccontextmanager
from datetime import datetime
from typing import Any

import psycopg
from sqlalchemy.exc import SQLAlchemyError
from sqlalchemy.ext.asyncio import AsyncConnection, AsyncEngine

from omoi_os.bus.base import Bus
from omoi_os.db import pipeline as pipelines
from omoi_os.db.base import Sessions
from omoi_os.db.clock import Clock
from omoi_os.db.pipeline import Pipeline
from omoi_os.errors import BadToken, NotReady
from omoi_os.masking import Masker
from omoi_os.sandboxes import repository
from omoi_os.sandboxes.ingest import group, intake, quick
from omoi_os.sandboxes.ingest.drafts import Batch
from omoi_os.sandboxes.ingest.posts import Answer, Post, Received, Sender
from omoi_os.sandboxes.ingest.quick import Memory
from omoi_os.sandboxes.ingest.quota import MAX_EVENT_BYTES
from omoi_os.sandboxes.service import UNKNOWN_TOKEN
from omoi_os.system import failpoint

log = logging.getLogger(__name__)

_UNREACHABLE = (SQLAlchemyError, psycopg.Error, OSError)

#: What may wait in all. Beyond it a sender is asked to come back.
MAX_POSTS = 4_000
MAX_BYTES = 64 * 1024 * 1024
#: What goes into one commit at the most.
MAX_GROUP_EVENTS = 2_000
MAX_GROUP_BYTES = 2 * 1024 * 1024
#: How long a connection is kept for posts that do not come.
IDLE_SECONDS = 0.5
#: How many sandboxes whose posts change a state are served at a time.
APART_AT_ONCE = 4


class Writer:
    """Takes posts, answers each after its commit. The posts of one sandbox are stored in the order they came."""

    def __init__(
        self,
        sessions: Sessions,
        bus: Bus,
        masker: Masker,
        clock: Clock | None = None,
        *,
        max_event_bytes: int = MAX_EVENT_BYTES,
    ) -> None:
        self._max_bytes = max_event_bytes
        self._sessions, self._bus, self._masker = sessions, bus, masker
        self._clock = clock or Clock()
        self._memory = Memory()
        self._queue: deque[Post] = deque()
        self._held: dict[str, list[Post]] = {}
        self._apart = asyncio.Semaphore(APART_AT_ONCE)
        self._tasks: set[asyncio.Task[None]] = set()
        self._draining = False
        self._arrived = asyncio.Event()
        self._posts = self._bytes = 0

    async def submit(self, sandbox_id: str, token_hash: str, batch: Batch, *, alone: bool, sender: Sender) -> Answer:
        """Store a post and return its answer once that is durable. `NotReady` when too much waits already,
        `SenderGone` when its sender hung up before it was its turn; then nothing of it is stored."""
        size = sender.size
        if self._posts >= MAX_POSTS or self._bytes + size > MAX_BYTES:
            raise NotReady("too many events wait to be stored; try again in a moment")
        answer: asyncio.Future[Answer] = asyncio.get_running_loop().create_future()
        post = Post(sandbox_id, token_hash, batch, alone, sender, answer)
        self._posts += 1
        self._bytes += size
        self._queue.append(post)
        self._wake()
        try:
            return await answer
        finally:
            self._posts -= 1
            self._bytes -= size

    def _wake(self) -> None:
        if self._queue:
            self._arrived.set()
            if not self._draining:
                self._draining = True
                self._start(self._drain())

    def _start(self, work: Coroutine[Any, Any, None]) -> None:
        task = asyncio.create_task(work)
        self._tasks.add(task)
        task.add_done_callback(self._tasks.discard)

    async def _drain(self) -> None:
        """Write until nothing has come for a while; the connection is kept that long."""
        try:
            async with self._connection() as connection:
                while self._queue or await self._more():
                    await self._turn(connection)
        except _UNREACHABLE as error:
            _warn(error)
            self._fail(list(self._queue))
            self._queue.clear()
        finally:
            self._draining = False
            self._wake()

    @asynccontextmanager
    async def _connection(self) -> AsyncIterator[AsyncConnection]:
        engine: AsyncEngine = self._sessions.kw["bind"]
        pool = engine.pool
        async with engine.connect() as connection:
            try:
                yield connection
            finally:
                if engine.pool is not pool:
                    # The engine was disposed of meanwhile, so nobody else will close it.
                    await connection.invalidate()

    async def _more(self) -> bool:
        """Wait a while for posts."""
        self._arrived.clear()
        try:
            async with asyncio.timeout(IDLE_SECONDS):
                await self._arrived.wait()
        except TimeoutError:
            return False
        return True

    async def _turn(self, connection: AsyncConnection) -> None:
        posts = self._next()
        if posts:
            for sandbox_id in await self._store(connection, posts):
                self._held[sandbox_id] = []
                self._start(self._serve(sandbox_id, posts[sandbox_id]))

    async def _store(self, connection: AsyncConnection, posts: dict[str, list[Post]]) -> set[str]:
        """Answer what one commit can hold. Returns the sandboxes whose posts must be taken one by one."""
        everyone = [post for some in posts.values() for post in some]
        pipeline, raw = await pipelines.on(connection)
        now, rest = self._clock.now(), posts
        try:
            if not failpoint.ARMED:
                rest = await self._store_quickly(pipeline, posts, now=now)
            if not rest:
                return set()
            outcome = await group.store(
                pipeline, self._bus, rest, now=now, masker=self._masker, max_bytes=self._max_bytes
            )
        except psycopg.Error as error:
            if raw.closed:
                self._fail(everyone)
                await connection.invalidate()
                raise
            log.warning("events: a commit failed, its posts are taken one by one: %s", str(error).strip()[:300])
            return set(rest)
        except Exception:
            self._fail(everyone)
            await connection.invalidate()
            log.exception("events: a commit failed")
            raise
        for post, answer in outcome.answers:
            post.settle(answer)
        for standing in outcome.standings:
            self._memory.keep(standing)
        return outcome.apart

    async def _store_quickly(
        self, pipeline: Pipeline, posts: dict[str, list[Post]], *, now: datetime
    ) -> dict[str, list[Post]]:
        """Answer what one round trip can hold. Returns the others."""
        answers = await quick.store(
            pipeline,
            self._bus,
            posts,
            now=now,
            masker=self._masker,
            memory=self._memory,
            max_bytes=self._max_bytes,
        )
        for post, answer in answers:
            post.settle(answer)
        answered = {post.sandbox_id for post, _ in answers}
        return {key: some for key, some in posts.items() if key not in answered}

    def _next(self) -> dict[str, list[Post]]:
        """The posts of the next commit, by sandbox; those of a sandbox that is served apart wait behind it."""
        posts: dict[str, list[Post]] = {}
        events = size = 0
        while self._queue and events < MAX_GROUP_EVENTS and size < MAX_GROUP_BYTES:
            post = self._queue.popleft()
            if post.is_dropped():
                continue
            if post.sandbox_id in self._held:
                self._held[post.sandbox_id].append(post)
                continue
            posts.setdefault(post.sandbox_id, []).append(post)
            events += len(post.drafts)
            size += post.sender.size
        return posts

    async def _serve(self, sandbox_id: str, posts: Sequence[Post]) -> None:
        """Take one sandbox's posts by themselves, each in a transaction of its own."""
        self._memory.forget(sandbox_id)
        async with self._apart:
            for post in posts:
                if post.is_dropped():
                    continue
                try:
                    post.settle(await self._take(post))
                except Exception as error:  # noqa: BLE001  whoever posted it is told
                    post.settle(error)
        self._queue.extendleft(reversed(self._held.pop(sandbox_id)))
        self._wake()

    async def _take(self, post: Post) -> Answer:
        now = self._clock.now()
        async with self._sessions.begin() as session:
            sandbox = await repository.lock(session, post.sandbox_id)
            if sandbox.token_hash != post.token_hash:
                raise BadToken(UNKNOWN_TOKEN)
            if not post.alone:
                return await intake.take_batch(
                    session, self._bus, sandbox, post.batch, now=now, masker=self._masker, max_bytes=self._max_bytes
                )
            row = await intake.take_one(
                session, self._bus, sandbox, post.drafts[0], now=now, masker=self._masker, max_bytes=self._max_bytes
            )
            return Received(row.event_type, row.event_id, row.seq, row.created_at)

    def _fail(self, posts: Sequence[Post]) -> None:
        for post in posts:
            post.settle(NotReady("the database does not answer; try again in a moment"))


def _warn(error: Exception) -> None:
    log.warning("events: the database does not answer: %s", " ".join(str(error).split())[:300])
