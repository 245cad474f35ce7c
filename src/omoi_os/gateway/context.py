"""State that the gateway's handlers share."""

import asyncio
from collections import Counter
from collections.abc import AsyncIterator, Callable, Coroutine
from contextlib import asynccontextmanager
from dataclasses import dataclass, field

from aiohttp import ClientSession, web

from omoi_os.audit.trail import Trail
from omoi_os.config import Settings
from omoi_os.db.base import Sessions
from omoi_os.gateway.callers import Callers
from omoi_os.gateway.git.backend import GitBackend
from omoi_os.gateway.model.bodies import Bodies
from omoi_os.gateway.model.metered.client import ModelClient
from omoi_os.gateway.model.seen_messages import Sightings
from omoi_os.masking import Masker


class Slots:
    """Limits concurrent work per sandbox, so that one sandbox cannot exhaust shared resources. The rest waits."""

    def __init__(self, each: int) -> None:
        self._each = each
        self._waiting: Counter[str] = Counter()
        self._slots: dict[str, asyncio.Semaphore] = {}

    async def take(self, sandbox_id: str) -> None:
        """Wait for a free slot. Each one must be released."""
        self._waiting[sandbox_id] += 1
        slot = self._slots.setdefault(sandbox_id, asyncio.Semaphore(self._each))
        try:
            await slot.acquire()
        except asyncio.CancelledError:
            self._forget(sandbox_id)
            raise

    def release(self, sandbox_id: str) -> None:
        """Release a slot."""
        self._slots[sandbox_id].release()
        self._forget(sandbox_id)

    @asynccontextmanager
    async def one(self, sandbox_id: str) -> AsyncIterator[None]:
        """Hold a slot while the block runs."""
        await self.take(sandbox_id)
        try:
            yield
        finally:
            self.release(sandbox_id)

    def _forget(self, sandbox_id: str) -> None:
        self._waiting[sandbox_id] -= 1
        if not self._waiting[sandbox_id]:
            del self._waiting[sandbox_id], self._slots[sandbox_id]


class Background:
    """Work that continues after its request has ended. The gateway waits for it when it stops."""

    def __init__(self) -> None:
        self._tasks: set[asyncio.Task[None]] = set()

    def start(self, work: Coroutine[None, None, None]) -> "asyncio.Task[None]":
        """Start a coroutine as a task."""
        task = asyncio.create_task(work)
        self._tasks.add(task)
        task.add_done_callback(self._tasks.discard)
        return task

    async def finish(self, *, timeout: float) -> None:
        """Wait for running tasks, then cancel those that are left."""
        if not self._tasks:
            return
        _, late = await asyncio.wait(set(self._tasks), timeout=timeout)
        for task in late:
            task.cancel()
        await asyncio.gather(*late, return_exceptions=True)


@dataclass(frozen=True)
class Parts:
    """Components of one gateway."""

    settings: Settings
    sessions: Sessions
    callers: Callers
    api: ClientSession
    models: ModelClient
    sightings: Sightings
    masker: Masker
    trail: Trail
    #: Returns the git backend of the forge with this name. Raises `ForgeError` if there is none.
    git_backend: Callable[[str], GitBackend]
    #: Limits the bodies and streams of one sandbox that are in memory at a time.
    model_slots: Slots = field(default_factory=lambda: Slots(8))
    parse_slots: Slots = field(default_factory=lambda: Slots(1))
    bodies: Bodies = field(default_factory=Bodies)
    git_slots: Slots = field(default_factory=lambda: Slots(4))
    push_slots: Slots = field(default_factory=lambda: Slots(1))
    background: Background = field(default_factory=Background)
    #: Bytes that each sandbox has pushed through this gateway.
    pushed: Counter[str] = field(default_factory=Counter)


PARTS = web.AppKey("parts", Parts)
