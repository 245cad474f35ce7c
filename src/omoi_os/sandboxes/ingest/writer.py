"""The writer of an API process: the requests that arrive during one commit are stored by the next."""

import asyncio
import logging
from collections import deque
from collections.abc import AsyncIterator, Coroutine, Iterable, Sequence
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
from omoi_os.errors import DatabaseUnavailable, NotReady
from omoi_os.sandboxes.ingest import careful_path, fast_path
from omoi_os.sandboxes.ingest.event_log import Answer
from omoi_os.sandboxes.ingest.numbering import Batch
from omoi_os.sandboxes.ingest.position_cache import PositionCache
from omoi_os.sandboxes.ingest.quota import MAX_EVENT_BYTES
from omoi_os.sandboxes.ingest.requests import EventRequest, Sender

log = logging.getLogger(__name__)

_UNREACHABLE = (SQLAlchemyError, psycopg.Error, OSError)

#: How many requests, and bytes of them, may wait. Beyond that clients are asked to retry.
MAX_REQUESTS = 4_000
MAX_BYTES = 64 * 1024 * 1024
#: The most that one commit stores.
MAX_COMMIT_EVENTS = 2_000
MAX_COMMIT_BYTES = 2 * 1024 * 1024
#: How long the connection is kept while no requests arrive.
IDLE_SECONDS = 0.5
#: How many sandboxes the careful path serves at a time.
CAREFUL_AT_ONCE = 4


class Writer:
    """Stores requests and answers each after its commit. Those of one sandbox are stored in the order they came."""

    def __init__(
        self, sessions: Sessions, bus: Bus, clock: Clock | None = None, *, max_event_bytes: int = MAX_EVENT_BYTES
    ) -> None:
        self._max_bytes = max_event_bytes
        self._sessions, self._bus = sessions, bus
        self._clock = clock or Clock()
        self._cache = PositionCache()
        self._queue: deque[EventRequest] = deque()
        #: The sandboxes that the careful path is serving, each with the requests that wait behind it.
        self._waiting: dict[str, list[EventRequest]] = {}
        self._careful = asyncio.Semaphore(CAREFUL_AT_ONCE)
        self._tasks: set[asyncio.Task[None]] = set()
        self._draining = False
        self._arrived = asyncio.Event()
        self._requests = self._bytes = 0

    async def submit(self, sandbox_id: str, token_hash: str, batch: Batch, *, alone: bool, sender: Sender) -> Answer:
        """Store the events of a request and return its answer once they are durable.

        Raises `NotReady` if too many requests are waiting, and `SenderGone` if the client disconnected before its
        events were stored. Raises what `careful_path.store_request` raises.
        """
        size = sender.size
        if self._requests >= MAX_REQUESTS or self._bytes + size > MAX_BYTES:
            raise NotReady("too many events are waiting to be stored; try again in a moment")
        answer: asyncio.Future[Answer] = asyncio.get_running_loop().create_future()
        self._requests += 1
        self._bytes += size
        self._queue.append(EventRequest(sandbox_id, token_hash, batch, alone, sender, answer))
        self._wake()
        try:
            return await answer
        finally:
            self._requests -= 1
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
        """Store requests on one connection until none has arrived for a while."""
        try:
            async with self._connection() as connection:
                while self._queue or await self._more():
                    await self._store_next(connection)
        except _UNREACHABLE as error:
            log.warning("events: the database does not answer: %s", " ".join(str(error).split())[:300])
            self._fail(self._queue)
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
                    # The engine was disposed of in the meantime, so nothing else will close this connection.
                    await connection.invalidate()

    async def _more(self) -> bool:
        """Wait a while for requests."""
        self._arrived.clear()
        try:
            async with asyncio.timeout(IDLE_SECONDS):
                await self._arrived.wait()
        except TimeoutError:
            return False
        return True

    async def _store_next(self, connection: AsyncConnection) -> None:
        requests = self._next()
        if requests:
            for sandbox_id in await self._store_fast(connection, requests):
                self._waiting[sandbox_id] = []
                self._start(self._store_carefully(sandbox_id, requests[sandbox_id]))

    def _next(self) -> dict[str, list[EventRequest]]:
        """Return the requests of the next commit by sandbox. Those behind the careful path are put aside."""
        requests: dict[str, list[EventRequest]] = {}
        events = size = 0
        while self._queue and events < MAX_COMMIT_EVENTS and size < MAX_COMMIT_BYTES:
            request = self._queue.popleft()
            if request.is_dropped():
                continue
            if request.sandbox_id in self._waiting:
                self._waiting[request.sandbox_id].append(request)
                continue
            requests.setdefault(request.sandbox_id, []).append(request)
            events += len(request.batch.events)
            size += request.sender.size
        return requests

    async def _store_fast(self, connection: AsyncConnection, requests: dict[str, list[EventRequest]]) -> set[str]:
        """Store and answer what the fast path can, and return the sandboxes that are left to the careful path."""
        everything = [request for some in requests.values() for request in some]
        pipeline, raw = await pipelines.open_pipeline(connection)
        now, rest = self._clock.now(), requests
        try:
            rest = await self._store_cached(pipeline, requests, now=now)
            if not rest:
                return set()
            outcome = await fast_path.store_locked(
                pipeline, self._bus, rest, self._cache, now=now, max_bytes=self._max_bytes
            )
        except psycopg.Error as error:
            if raw.closed:
                self._fail(everything)
                await connection.invalidate()
                raise
            reason = str(error).strip()[:300]
            log.warning("events: a commit failed; its requests are stored one by one: %s", reason)
            return set(rest)
        except Exception:
            self._fail(everything)
            await connection.invalidate()
            log.exception("events: a commit failed")
            raise
        for request, answer in outcome.answers:
            request.settle(answer)
        return outcome.left_over

    async def _store_cached(
        self, pipeline: Pipeline, requests: dict[str, list[EventRequest]], *, now: datetime
    ) -> dict[str, list[EventRequest]]:
        """Store and answer what needs one round trip, and return the other requests."""
        answers = await fast_path.store_cached(
            pipeline, self._bus, requests, self._cache, now=now, max_bytes=self._max_bytes
        )
        for request, answer in answers:
            request.settle(answer)
        answered = {request.sandbox_id for request, _ in answers}
        return {sandbox_id: some for sandbox_id, some in requests.items() if sandbox_id not in answered}

    async def _store_carefully(self, sandbox_id: str, requests: Sequence[EventRequest]) -> None:
        """Store the requests of one sandbox, each in its own transaction."""
        self._cache.drop(sandbox_id)
        async with self._careful:
            for request in requests:
                if request.is_dropped():
                    continue
                try:
                    async with careful_path.transaction(self._sessions) as session:
                        answer = await careful_path.store_request(
                            session, self._bus, request, now=self._clock.now(), max_bytes=self._max_bytes
                        )
                except Exception as error:  # noqa: BLE001  the client gets it as the answer
                    request.settle(error)
                else:
                    request.settle(answer)
        self._queue.extendleft(reversed(self._waiting.pop(sandbox_id)))
        self._wake()

    def _fail(self, requests: Iterable[EventRequest]) -> None:
        for request in requests:
            request.settle(DatabaseUnavailable())
