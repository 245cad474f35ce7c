"""Jobs beside the loop: at most one per name, errors logged, and the loop is woken when one ends."""

import asyncio
import logging
from collections.abc import Callable, Coroutine
from typing import Any

log = logging.getLogger(__name__)


class Jobs:
    """Every step they take is repeatable, so a job that fails is simply started again by a later comparison."""

    def __init__(self) -> None:
        self._running: dict[str, asyncio.Task[None]] = {}
        #: Set whenever a job has ended: what it did may ask for more.
        self.ended = asyncio.Event()

    def start(self, name: str, work: Callable[[], Coroutine[Any, Any, None]]) -> None:
        """Start it unless a job of this name is under way."""
        if name not in self._running:
            self._running[name] = asyncio.create_task(self._run(name, work), name=name)

    def running(self, name: str) -> bool:
        """Whether a job of this name is under way."""
        return name in self._running

    async def _run(self, name: str, work: Callable[[], Coroutine[Any, Any, None]]) -> None:
        try:
            await work()
        except Exception:
            log.warning("%s failed and will be tried again", name, exc_info=True)
        finally:
            self._running.pop(name, None)
            self.ended.set()

    async def finish(self, *prefixes: str, timeout: float) -> None:
        """Wait for the jobs whose names begin so, not longer than this."""
        tasks = [task for name, task in self._running.items() if name.startswith(prefixes)]
        if tasks:
            await asyncio.wait(tasks, timeout=timeout)

    async def cancel(self) -> None:
        """End all of them."""
        tasks = list(self._running.values())
        for task in tasks:
            task.cancel()
        await asyncio.gather(*tasks, return_exceptions=True)
