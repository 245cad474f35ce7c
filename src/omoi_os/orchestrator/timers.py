"""Timers: when an orchestrator last did something, and for how long conditions have lasted."""

import math
import time
from collections.abc import Collection, Mapping

import httpx

#: If two answers of the API are further apart, it may have been unreachable in between.
MAX_GAP_SECONDS = 60.0


class Timers:
    """The monotonic timers of one orchestrator. Losing them at a restart only delays decisions."""

    def __init__(self) -> None:
        self._done: dict[str, float] = {}
        self._answering_since: float | None = None
        self._answered_at = -math.inf
        self._lasting: dict[str, dict[str, float]] = {}

    def is_due(self, name: str, *, every: float) -> bool:
        """Return whether `every` seconds have passed since this last returned True, and restart the timer if so."""
        now = time.monotonic()
        if now - self._done.get(name, -every) < every:
            return False
        self._done[name] = now
        return True

    def forget(self, name: str) -> None:
        """Reset the timer, so that it is due."""
        self._done.pop(name, None)

    def note(self, name: str) -> None:
        """Record that this happens now."""
        self._done[name] = time.monotonic()

    def since(self, name: str) -> float:
        """Return how many seconds ago this was last recorded."""
        return time.monotonic() - self._done.get(name, -math.inf)

    def lasting(self, kind: str, names: Collection[str]) -> dict[str, float]:
        """Return for how many seconds each name has been part of every call of this kind; 0 for a new one."""
        return self.ages(kind, dict.fromkeys(names, 0.0))

    def ages(self, kind: str, found: Mapping[str, float]) -> dict[str, float]:
        """Return the age of each name in seconds: its age at the first call of this kind, plus the time since.

        Names that are missing from one call are forgotten. Jumps of the system clock have no effect.
        """
        now, before = time.monotonic(), self._lasting.get(kind, {})
        started = {name: before.get(name, now - age) for name, age in found.items()}
        self._lasting[kind] = started
        return {name: now - since for name, since in started.items()}

    def api_reachable_for(self, *, gap: float = MAX_GAP_SECONDS) -> float:
        """Return for how many seconds the API has answered without a failure.

        0 if it was not asked for longer than `gap`, because sandboxes may not have been able to report either.
        """
        if self._answering_since is None or time.monotonic() - self._answered_at > gap:
            return 0.0
        return time.monotonic() - self._answering_since

    def note_api(self, *, answered: bool, gap: float = MAX_GAP_SECONDS) -> None:
        """Record whether the API answers now."""
        now = time.monotonic()
        if not answered:
            self._answering_since = None
        elif self._answering_since is None or now - self._answered_at > gap:
            self._answering_since = now
        self._answered_at = now


async def api_answers(url: str) -> bool:
    """Return whether the API answers."""
    try:
        async with httpx.AsyncClient(trust_env=False, timeout=2) as client:
            return (await client.get(f"{url}/health")).is_success
    except httpx.TransportError:
        return False
