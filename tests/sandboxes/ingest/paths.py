"""The ways in which events are stored, each behind one interface for tests."""

import asyncio
from datetime import UTC, datetime
from typing import Any, Protocol

from omoi_os.bus.base import Bus
from omoi_os.bus.memory import MemoryBus
from omoi_os.db import pipeline as pipelines
from omoi_os.db.base import Sessions
from omoi_os.ids import token_hash
from omoi_os.masking import Masker
from omoi_os.protocol.events import Event
from omoi_os.sandboxes import repository
from omoi_os.sandboxes.ingest import careful_path, event_log, fast_path, parsing
from omoi_os.sandboxes.ingest.event_log import Answer
from omoi_os.sandboxes.ingest.position_cache import PositionCache
from omoi_os.sandboxes.ingest.quota import MAX_EVENT_BYTES
from omoi_os.sandboxes.ingest.requests import Answers, EventRequest, Sender
from tests.api_process import Reporter

SECRET = "sk-super-secret-value"
MASKER = Masker([SECRET])


def make_request(reporter: Reporter, *events: dict[str, Any], alone: bool = False) -> EventRequest:
    """Build a request as the routes do."""
    batch = parsing.judge([{"event_type": "agent.message"} | event for event in events], MASKER)
    answer: asyncio.Future[Answer] = asyncio.get_running_loop().create_future()
    return EventRequest(reporter.id, token_hash(reporter.token), batch, alone, Sender(1), answer)


class Path(Protocol):
    """Stores the events of one request and returns its answer, or raises the error that the client gets."""

    #: How many requests it left to the careful path.
    left_over: int

    async def post(self, reporter: Reporter, *events: dict[str, Any], alone: bool = False) -> Answer: ...


class CarefulPath:
    """Each request in its own transaction."""

    def __init__(self, sessions: Sessions, bus: Bus | None = None, *, max_bytes: int = MAX_EVENT_BYTES) -> None:
        self.sessions, self.bus, self.max_bytes = sessions, bus or MemoryBus(), max_bytes
        self.left_over = 0

    async def post(self, reporter: Reporter, *events: dict[str, Any], alone: bool = False) -> Answer:
        return await self.store(make_request(reporter, *events, alone=alone))

    async def store(self, request: EventRequest) -> Answer:
        now = datetime.now(UTC)
        async with careful_path.transaction(self.sessions) as session:
            return await careful_path.store_request(session, self.bus, request, now=now, max_bytes=self.max_bytes)


class SpoolPath(CarefulPath):
    """Events that a dead worker left in its spool."""

    async def post(self, reporter: Reporter, *events: dict[str, Any], alone: bool = False) -> Answer:
        assert not alone, "a spool is read in batches"
        frames = [Event(**({"event_type": "agent.message", "event_data": {}} | event)) for event in events]
        now = datetime.now(UTC)
        async with careful_path.transaction(self.sessions) as session:
            return await careful_path.record_events(
                session, self.bus, reporter.id, frames, now=now, masker=MASKER, max_bytes=self.max_bytes
            )


class LockedPath(CarefulPath):
    """The fast path in two round trips; what it leaves over is stored carefully, as the writer does."""

    def __init__(self, sessions: Sessions, bus: Bus | None = None, *, max_bytes: int = MAX_EVENT_BYTES) -> None:
        super().__init__(sessions, bus, max_bytes=max_bytes)
        self.cache = PositionCache()

    async def store(self, request: EventRequest) -> Answer:
        answers = await self.store_fast(request)
        if not answers:
            self.left_over += 1
            return await super().store(request)
        ((_, answer),) = answers
        if isinstance(answer, Exception):
            raise answer
        return answer

    async def store_fast(self, request: EventRequest) -> Answers:
        """Store a request without the careful path; return no answers if it is left over."""
        async with self.sessions() as session:
            connection = await session.connection()
            pipeline, _ = await pipelines.open_pipeline(connection)
            try:
                return await self.run(pipeline, request)
            except BaseException:
                await connection.invalidate()
                raise

    async def run(self, pipeline: pipelines.Pipeline, request: EventRequest) -> Answers:
        now = datetime.now(UTC)
        requests = {request.sandbox_id: [request]}
        outcome = await fast_path.store_locked(
            pipeline, self.bus, requests, self.cache, now=now, max_bytes=self.max_bytes
        )
        return outcome.answers


class CachedPath(LockedPath):
    """The fast path in one round trip, for a sandbox whose position is cached."""

    async def store(self, request: EventRequest) -> Answer:
        await self.remember(request.sandbox_id)
        return await super().store(request)

    async def remember(self, sandbox_id: str) -> None:
        """Cache the current position of a sandbox."""
        async with self.sessions() as session:
            sandbox = await repository.get(session, sandbox_id)
            assert sandbox is not None
            self.cache.put(sandbox_id, event_log.position_of(sandbox))

    async def run(self, pipeline: pipelines.Pipeline, request: EventRequest) -> Answers:
        now = datetime.now(UTC)
        requests = {request.sandbox_id: [request]}
        return await fast_path.store_cached(pipeline, self.bus, requests, self.cache, now=now, max_bytes=self.max_bytes)


PATHS = {"cached": CachedPath, "locked": LockedPath, "careful": CarefulPath, "spool": SpoolPath}
