"""Background jobs: at most one per name, retried after a failure, waking the loop when one ends."""

import asyncio
import logging
import time
from collections.abc import Callable, Coroutine
from typing import Any

log = logging.getLogger(__name__)

#: The pause after a job's first failure; it doubles with each further one.
FIRST_REST_SECONDS = 0.5
LONGEST_REST_SECONDS = 15.0
#: A failed job that was not started again for this long no longer counts as failing.
FORGET_SECONDS = 300.0


class Jobs:
    """The running jobs of one orchestrator.

    Every step of a job can be repeated, so a later comparison starts a failed job again, after a pause.
    """

    def __init__(self) -> None:
        self._running: dict[str, asyncio.Task[None]] = {}
        self._failures: dict[str, int] = {}
        #: Since when each job has been failing, and its last error.
        self._failing: dict[str, tuple[float, str]] = {}
        self._resting: set[str] = set()
        #: Set when there may be more to do: a job has ended, or may be retried.
        self.ended = asyncio.Event()

    def start(self, name: str, work: Callable[[], Coroutine[Any, Any, None]]) -> None:
        """Start a job unless one of this name is running or pauses after a failure."""
        if name not in self._running and name not in self._resting:
            self._running[name] = asyncio.create_task(self._run(name, work), name=name)

    def running(self, name: str) -> bool:
        """Return whether a job of this name is running."""
        return name in self._running

    def failing(self, seconds: float) -> dict[str, str]:
        """Return the jobs that have failed every time for this long, each with its last error."""
        now = time.monotonic()
        # Forget jobs that are no longer started.
        for name in [name for name in self._failing if name not in self._running and name not in self._resting]:
            if now - self._failing[name][0] > FORGET_SECONDS:
                del self._failing[name]
        return {name: error for name, (since, error) in self._failing.items() if now - since >= seconds}

    async def _run(self, name: str, work: Callable[[], Coroutine[Any, Any, None]]) -> None:
        try:
            await work()
        except Exception as error:
            rest = self._rest(name)
            since, _ = self._failing.get(name, (time.monotonic(), ""))
            self._failing[name] = (since, f"{type(error).__name__}: {' '.join(str(error).split())[:200]}")
            log.warning("job %r failed; retrying in %g s", name, rest, exc_info=True)
        else:
            self._failures.pop(name, None)
            self._failing.pop(name, None)
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
        """Wait for the jobs whose names start with one of these prefixes, at most `timeout` seconds."""
        tasks = [task for name, task in self._running.items() if name.startswith(prefixes)]
        if tasks:
            await asyncio.wait(tasks, timeout=timeout)

    async def cancel(self) -> None:
        """Cancel all jobs and wait for them to end."""
        tasks = list(self._running.values())
        for task in tasks:
            task.cancel()
        await asyncio.gather(*tasks, return_exceptions=True)
        self._running.clear()
