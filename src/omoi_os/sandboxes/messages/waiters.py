"""Long polls of this process: one bus subscription wakes all of them."""

import asyncio
import contextlib
import time
from collections import defaultdict
from collections.abc import Awaitable, Callable, Iterable, Sequence
from dataclasses import dataclass, field
from typing import TypeVar

from omoi_os.bus.base import Bus, Topic

T = TypeVar("T")

#: How many long polls one sandbox may have; one more ends the oldest, whose client has most likely disconnected.
MAX_EACH = 4


@dataclass(eq=False, slots=True)
class _Waiter:
    woken: asyncio.Event = field(default_factory=asyncio.Event)
    #: Whether it must end, even without a result.
    ended: bool = False

    def end(self) -> None:
        self.ended = True
        self.woken.set()


class Waiters:
    """Waits without a database session or polling for each long poll."""

    def __init__(self, bus: Bus) -> None:
        self._bus = bus
        self._waiting: defaultdict[str, list[_Waiter]] = defaultdict(list)
        self._listening: asyncio.Task[None] | None = None
        self._ready = asyncio.Event()
        self._closed = False

    async def until_found(
        self, sandbox_id: str, look: Callable[[], Awaitable[Sequence[T]]], *, seconds: float
    ) -> Sequence[T]:
        """Call `look` now and on each wake-up for this sandbox, until it returns something or the time is up."""
        ends = time.monotonic() + seconds
        self._listen()
        waiter = self._join(sandbox_id)
        try:
            # Until the bus listens, a wake-up between looking and waiting would be missed.
            await _within(self._ready, ends)
            while True:
                waiter.woken.clear()
                found = await look()
                if found or waiter.ended or not await _within(waiter.woken, ends):
                    return found
        finally:
            self._leave(sandbox_id, waiter)

    async def close(self) -> None:
        """End every long poll, because the process stops."""
        self._closed = True
        for waiter in self._all():
            waiter.end()
        if self._listening is not None:
            self._listening.cancel()
            with contextlib.suppress(asyncio.CancelledError):
                await self._listening

    def _join(self, sandbox_id: str) -> _Waiter:
        waiter = _Waiter(ended=self._closed)
        present = self._waiting[sandbox_id]
        present.append(waiter)
        if len(present) > MAX_EACH:
            present.pop(0).end()
        return waiter

    def _leave(self, sandbox_id: str, waiter: _Waiter) -> None:
        present = self._waiting[sandbox_id]
        if waiter in present:
            present.remove(waiter)
        if not present:
            del self._waiting[sandbox_id]

    def _all(self) -> Iterable[_Waiter]:
        return [waiter for present in self._waiting.values() for waiter in present]

    def _listen(self) -> None:
        if not self._closed and (self._listening is None or self._listening.done()):
            self._ready.clear()
            self._listening = asyncio.create_task(self._wake())

    async def _wake(self) -> None:
        async with self._bus.listen(Topic.MESSAGES, Topic.SANDBOXES) as wakeups:
            self._ready.set()
            async for wakeup in wakeups:
                for waiter in self._all() if wakeup.resync else self._waiting.get(wakeup.key, ()):
                    waiter.woken.set()


async def _within(event: asyncio.Event, ends: float) -> bool:
    """Return whether the event was set before that time."""
    with contextlib.suppress(TimeoutError):
        async with asyncio.timeout(max(0.0, ends - time.monotonic())):
            return await event.wait()
    return False
