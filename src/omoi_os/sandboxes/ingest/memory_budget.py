"""The memory that event requests may use while they are received and wait to be stored, for a slow database's sake."""

from collections import Counter
from types import TracebackType
from typing import Self

from omoi_os.errors import NotReady, TooMany

#: For all requests together: well below half of what an API process uses anyway.
MAX_BYTES = 32 * 1024 * 1024
#: For the requests of one sandbox; the largest batch fits.
MAX_BYTES_EACH = MAX_BYTES * 3 // 8
#: Measured: a waiting request, an event in it, and a byte of its body, which is held as received, as parsed values and
#: as the text to store.
REQUEST_BYTES, EVENT_BYTES, BYTE_BYTES = 18_000, 1_500, 3


class MemoryBudget:
    """Counts the bytes in use for each sandbox. A request that is alone always fits."""

    def __init__(self, *, limit: int = MAX_BYTES, each: int = MAX_BYTES_EACH) -> None:
        self._limit, self._each = limit, each
        self._used: Counter[str] = Counter()
        self._total = 0

    def reserve(self, sandbox_id: str) -> "Reservation":
        """Reserve memory for one request for the duration of the block.

        Raises `NotReady` if the budget is used up, and `TooMany` if the sandbox has used up its share.
        """
        return Reservation(self, sandbox_id)

    def take(self, sandbox_id: str, size: int, *, own: int) -> None:
        """Add to what a request has reserved, of which it holds `own` bytes already."""
        if self._used[sandbox_id] > own and self._used[sandbox_id] + size > self._each:
            raise TooMany(f"too many requests of sandbox {sandbox_id} are in progress; wait for their answers")
        if self._total > own and self._total + size > self._limit:
            raise NotReady("too many events are waiting to be stored; try again in a moment")
        self._used[sandbox_id] += size
        self._total += size

    def release(self, sandbox_id: str, size: int) -> None:
        """Give back what a request has reserved."""
        self._total -= size
        self._used[sandbox_id] -= size
        if self._used[sandbox_id] <= 0:
            del self._used[sandbox_id]


class Reservation:
    """The memory that one request has reserved."""

    def __init__(self, budget: MemoryBudget, sandbox_id: str) -> None:
        self._budget, self._sandbox_id = budget, sandbox_id
        self._size = 0

    def __enter__(self) -> Self:
        self._take(REQUEST_BYTES)
        return self

    def __exit__(self, *_: type[BaseException] | BaseException | TracebackType | None) -> None:
        self._budget.release(self._sandbox_id, self._size)

    def add_body(self, size: int) -> None:
        """Reserve for more bytes of the body."""
        self._take(BYTE_BYTES * size)

    def add_events(self, count: int) -> None:
        """Reserve for the events that were parsed from the body."""
        self._take(EVENT_BYTES * count)

    def _take(self, size: int) -> None:
        self._budget.take(self._sandbox_id, size, own=self._size)
        self._size += size
