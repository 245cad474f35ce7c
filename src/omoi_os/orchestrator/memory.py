"""What an orchestrator remembers between turns: when it last did something, and since when the API answers."""

import math
import time
from collections.abc import Collection, Mapping

import httpx

#: Between two answers of the API that are further apart it may have been away.
MAX_GAP_SECONDS = 60.0


class Watch:
    """Nothing here matters after a restart: it only makes us slower to judge."""

    def __init__(self) -> None:
        self._done: dict[str, float] = {}
        self._answering_since: float | None = None
        self._answered_at = -math.inf
        self._lasting: dict[str, dict[str, float]] = {}

    def is_due(self, name: str, *, every: float) -> bool:
        """Whether so many seconds have passed since this was last true."""
        now = time.monotonic()
        if now - self._done.get(name, -every) < every:
            return False
        self._done[name] = now
        return True

    def forget(self, name: str) -> None:
        """Make it due."""
        self._done.pop(name, None)

    def note(self, name: str) -> None:
        """It happens now."""
        self._done[name] = time.monotonic()

    def since(self, name: str) -> float:
        """How many seconds ago it was last noted."""
        return time.monotonic() - self._done.get(name, -math.inf)

    def lasting(self, kind: str, names: Collection[str]) -> dict[str, float]:
        """Return for how many seconds each of these was named at every call of this kind: 0 for a new one."""
        return self.ages(kind, dict.fromkeys(names, 0.0))

    def ages(self, kind: str, found: Mapping[str, float]) -> dict[str, float]:
        """Return how many seconds old each of these is: what was found when it was first named, and the time since.

        What is not named at every call of this kind is forgotten. A clock that jumps between two calls changes nothing.
        """
        now, before = time.monotonic(), self._lasting.get(kind, {})
        began = {name: before.get(name, now - age) for name, age in found.items()}
        self._lasting[kind] = began
        return {name: now - since for name, since in began.items()}

    def api_reachable_for(self, *, gap: float = MAX_GAP_SECONDS) -> float:
        """Return for how many seconds the API has answered every time.

        0 when it was not asked for longer than `gap`: a sandbox may not have been able to report either.
        """
        if self._answering_since is None or time.monotonic() - self._answered_at > gap:
            return 0.0
        return time.monotonic() - self._answering_since

    def note_api(self, *, answered: bool, gap: float = MAX_GAP_SECONDS) -> None:
        """Take down whether the API answers now."""
        now = time.monotonic()
        if not answered:
            self._answering_since = None
        elif self._answering_since is None or now - self._answered_at > gap:
            self._answering_since = now
        self._answered_at = now


async def api_answers(url: str) -> bool:
    """Ask the API whether it serves."""
    try:
        async with httpx.AsyncClient(trust_env=False, timeout=2) as client:
            return (await client.get(f"{url}/health")).is_success
    except httpx.TransportError:
        return False
