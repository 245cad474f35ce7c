"""How much one sandbox may report: a flood from one must not become everybody's delay."""

import asyncio
import time
from collections import Counter
from collections.abc import Callable

from omoi_os.errors import TooMany

#: Units per second: an event, or four KiB of a larger body. A spool is drained at half of it and more.
RATE = 2_000.0
#: What may come after a while of silence, faster than that.
BURST = 5_000.0
#: Units per second at which a burst is stored, but for so many at its beginning: the answers to the rest take longer.
PACE = 3_000.0
AT_ONCE = 500.0
UNIT_BYTES = 4096
#: How long a refusal is held back, since a refusal costs too: whoever does not wait is made to.
HOLD_SECONDS = 0.5
#: How many refusals of one sandbox are held back at a time; with those beyond them the connection ends.
MAX_HELD = 16
#: How many sandboxes are remembered; whoever was forgotten begins anew.
_MAX_REMEMBERED = 20_000


#: What the events of one sandbox may add up to, unless the settings say so (OMOI_SANDBOX_EVENTS_MB).
MAX_EVENT_BYTES = 256 * 1024 * 1024
#: What a row takes beside the event's data.
ROW_BYTES = 200


def used_up(sandbox_id: str, limit: int) -> TooMany:
    """Return what a sandbox is answered whose events add up to its quota. It is stopped soon after."""
    return TooMany(
        f"the events of sandbox {sandbox_id} add up to its quota of {limit >> 20} MB (OMOI_SANDBOX_EVENTS_MB); "
        "no more are stored"
    )


class Quota:
    """One bucket for each sandbox, in this process."""

    def __init__(
        self, *, rate: float = RATE, burst: float = BURST, clock: Callable[[], float] = time.monotonic
    ) -> None:
        self._rate, self._burst, self._clock = rate, burst, clock
        self._levels: dict[str, tuple[float, float]] = {}
        #: When all that a sandbox has sent is taken, at that pace.
        self._taken: dict[str, float] = {}
        self._held: Counter[str] = Counter()

    def check(self, sandbox_id: str) -> None:
        """`TooMany` for one that has used up what it may report."""
        if self._level(sandbox_id) <= 0:
            raise TooMany(f"sandbox {sandbox_id} reports too much; send at most {self._rate:.0f} events a second")

    def charge(self, sandbox_id: str, units: float) -> None:
        """Note what it has sent."""
        if len(self._levels) >= _MAX_REMEMBERED and sandbox_id not in self._levels:
            self._levels.clear()
            self._taken.clear()
        self._levels[sandbox_id] = (self._level(sandbox_id) - units, self._clock())

    async def pace(self, sandbox_id: str, units: float) -> None:
        """Wait until it is this sandbox's turn again, after all that it has sent before."""
        now = self._clock()
        begins = max(now, self._taken.get(sandbox_id, 0.0))
        self._taken[sandbox_id] = begins + units / PACE
        wait = begins - now - AT_ONCE / PACE
        if wait > 0:
            await asyncio.sleep(wait)

    async def hold(self, sandbox_id: str, *, seconds: float = HOLD_SECONDS) -> bool:
        """Keep a refused sandbox waiting for its answer. False, at once, when as many as may be are waiting already."""
        if self._held[sandbox_id] >= MAX_HELD:
            return False
        self._held[sandbox_id] += 1
        try:
            await asyncio.sleep(seconds)
        finally:
            self._held[sandbox_id] -= 1
            if not self._held[sandbox_id]:
                del self._held[sandbox_id]
        return True

    def _level(self, sandbox_id: str) -> float:
        level, since = self._levels.get(sandbox_id, (self._burst, 0.0))
        return min(self._burst, level + (self._clock() - since) * self._rate)
