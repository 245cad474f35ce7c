"""How many events one sandbox may post: a flood from one must not delay the others."""

import asyncio
import time
from collections import Counter
from collections.abc import Callable

from omoi_os.errors import TooMany

#: Units per second: an event, or four KiB of a larger body. A spool is drained at least half as fast.
RATE = 2_000.0
#: How many units may come faster than that after a while without any.
BURST = 5_000.0
#: Units per second at which a burst is stored, except for the first ones; the answers to the others take longer.
PACE = 3_000.0
AT_ONCE = 500.0
UNIT_BYTES = 4096
#: How long a refusal is delayed: refusals cost time too, and not every client waits by itself.
HOLD_SECONDS = 0.5
#: How many refusals of one sandbox are delayed at a time; beyond that its connections are closed.
MAX_HELD = 16
#: How many sandboxes are tracked. When there are more, all start again with a full burst.
_MAX_TRACKED = 20_000

#: The total size of one sandbox's events, unless the settings change it (OMOI_SANDBOX_EVENTS_MB).
MAX_EVENT_BYTES = 256 * 1024 * 1024
#: The size of a row without the event's data.
ROW_BYTES = 200


def used_up(sandbox_id: str, limit: int) -> TooMany:
    """Return the error for a sandbox whose events have reached its quota. The orchestrator stops it soon after."""
    return TooMany(
        f"the events of sandbox {sandbox_id} have reached its quota of {limit >> 20} MB (OMOI_SANDBOX_EVENTS_MB); "
        "no more are stored"
    )


class Quota:
    """A token bucket for each sandbox, in this process."""

    def __init__(
        self, *, rate: float = RATE, burst: float = BURST, clock: Callable[[], float] = time.monotonic
    ) -> None:
        self._rate, self._burst, self._clock = rate, burst, clock
        self._levels: dict[str, tuple[float, float]] = {}
        #: When everything that a sandbox has sent will be stored, at that pace.
        self._stored_by: dict[str, float] = {}
        self._delayed: Counter[str] = Counter()

    def check(self, sandbox_id: str) -> None:
        """Raise `TooMany` if the sandbox has used up its burst."""
        if self._level(sandbox_id) <= 0:
            raise TooMany(f"sandbox {sandbox_id} posts too many events; send at most {self._rate:.0f} events a second")

    def charge(self, sandbox_id: str, units: float) -> None:
        """Charge a sandbox for what it has sent."""
        if len(self._levels) >= _MAX_TRACKED and sandbox_id not in self._levels:
            self._levels.clear()
            self._stored_by.clear()
        self._levels[sandbox_id] = (self._level(sandbox_id) - units, self._clock())

    async def pace(self, sandbox_id: str, units: float) -> None:
        """Wait until everything that the sandbox has sent before is stored at its pace."""
        now = self._clock()
        starts = max(now, self._stored_by.get(sandbox_id, 0.0))
        self._stored_by[sandbox_id] = starts + units / PACE
        wait = starts - now - AT_ONCE / PACE
        if wait > 0:
            await asyncio.sleep(wait)

    async def hold(self, sandbox_id: str, *, seconds: float = HOLD_SECONDS) -> bool:
        """Delay the answer to a refused request. Return False at once if too many answers are delayed already."""
        if self._delayed[sandbox_id] >= MAX_HELD:
            return False
        self._delayed[sandbox_id] += 1
        try:
            await asyncio.sleep(seconds)
        finally:
            self._delayed[sandbox_id] -= 1
            if not self._delayed[sandbox_id]:
                del self._delayed[sandbox_id]
        return True

    def _level(self, sandbox_id: str) -> float:
        level, since = self._levels.get(sandbox_id, (self._burst, 0.0))
        return min(self._burst, level + (self._clock() - since) * self._rate)
