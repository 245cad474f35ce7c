"""Jobs beside the loop: at most one per name, errors logged, and the loop is woken when one ends."""

import asyncio
import logging
from collections.abc import Callable, Coroutine
from typing import Any

log = logging.getLogger(__name__)

#: The pause after a job's first failure; it doubles with each further one.
FIRST_REST_SECONDS = 0.5
LONGEST_REST_SECONDS = 15.0


class Jobs:
    """Every step they take is repeatable, so a job that fails is started again by a later comparison, after a pause."""

    def __init__(self) -> None:
        self._running: dict[str, asyncio.Task[None]] = {}
        self._failures: dict[str, int] = {}
        self._resting: set[str] = set()
        #: Set whenever there may be more to do: a job has ended, or may be tried again.
        self.ended = asyncio.Event()

    def start(self, name: str, work: Callable[[], Coroutine[Any, Any, None]]) -> None:
        """Start it unless a job of this name is under way or rests after a failure."""
        if name not in self._running and name not in self._resting:
            self._running[name] = asyncio.create_task(self._run(name, work), name=name)

    def running(self, name: str) -> bool:
        """Whether a job of this name is under way."""
        return name in self._running

    async def _run(self, name: str, work: Callable[[], Coroutine[Any, Any, None]]) -> None:
        try:
            await work()
        except Exception:
            rest = self._rest(name)
            log.warning("%s failed and is tried again in %g s", name, rest, exc_info=True)
        else:
            self._failures.pop(name, None)
            self.ended.set()
        finally:
            self._running.pop(name, None)

    def _rest(self, name: str) -> float:
        failures = self._failures[name] = self._failures.get(name, 0) + 1
        rest = min(LONGEST_REST_SECONDS, FIRST_REST_SECONDS * 2.0 ** min(failures - 1, 10))
        self._resting.add(name)
        asyncio.get_running_loop().call_later(rest, self._wake, name)
        return rest

    def _wake(self, name: str) -> None:
        self._resting.discard(name)
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
        self._running.clear()
