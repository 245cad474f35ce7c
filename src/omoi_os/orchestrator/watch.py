"""What an orchestrator remembers between turns: when it last did something, and since when the API answers."""

import math
import time
from collections.abc import Collection

import httpx


class Watch:
    """Nothing here matters after a restart: it only makes us slower to judge."""

    def __init__(self) -> None:
        self._done: dict[str, float] = {}
        self._answering_since: float | None = None
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
        now, before = time.monotonic(), self._lasting.get(kind, {})
        first = {name: before.get(name, now) for name in names}
        self._lasting[kind] = first
        return {name: now - since for name, since in first.items()}

    async def api_heard_for(self, url: str) -> float:
        """Ask the API now, and return for how many seconds it has answered every time: while it does not answer,
        a sandbox's silence is not its fault."""
        try:
            async with httpx.AsyncClient(trust_env=False, timeout=2) as client:
                answered = (await client.get(f"{url}/health")).is_success
        except httpx.TransportError:
            answered = False
        if not answered:
            self._answering_since = None
            return 0.0
        self._answering_since = self._answering_since or time.monotonic()
        return time.monotonic() - self._answering_since
