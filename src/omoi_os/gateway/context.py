"""State that the gateway's handlers share."""

import asyncio
from collections import Counter
from collections.abc import Callable, Coroutine
from dataclasses import dataclass, field

from aiohttp import ClientSession, web

from omoi_os.audit.trail import Trail
from omoi_os.config import Settings
from omoi_os.db.base import Sessions
from omoi_os.forges.smart_http.backend import GitBackend
from omoi_os.gateway.callers import Callers
from omoi_os.gateway.model.bodies import Bodies
from omoi_os.gateway.model.metered.client import ModelClient
from omoi_os.gateway.model.seen_messages import Sightings
from omoi_os.masking import Masker
from omoi_os.system.slots import Slots


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
