"""The memory that posts may take while they come in and wait to be stored: a slow database must not use it up."""

from collections import Counter
from types import TracebackType
from typing import Self

from omoi_os.errors import NotReady, TooMany

#: For all posts together: well below half of what an API process has anyway.
MAX_BYTES = 32 * 1024 * 1024
#: For those of one sandbox; the largest batch fits.
MAX_BYTES_EACH = MAX_BYTES * 3 // 8
#: Measured: a request that waits, an event in it, and a byte of its body, which is held as it came, then as what it
#: says and as the text that is stored.
REQUEST_BYTES, EVENT_BYTES, BYTE_BYTES = 18_000, 1_500, 3


class Room:
    """Counts what is held for each sandbox. A post that is alone always fits."""

    def __init__(self, *, limit: int = MAX_BYTES, each: int = MAX_BYTES_EACH) -> None:
        self._limit, self._each = limit, each
        self._held: Counter[str] = Counter()
        self._all = 0

    def place(self, sandbox_id: str) -> "Place":
        """Room for one post, as long as the block runs. `NotReady` when there is none, `TooMany` for who has it all."""
        return Place(self, sandbox_id)

    def take(self, sandbox_id: str, size: int, *, own: int) -> None:
        """Hold more for a post that has its own share already."""
        if self._held[sandbox_id] > own and self._held[sandbox_id] + size > self._each:
            raise TooMany(f"too many events of sandbox {sandbox_id} are under way; wait for the answers")
        if self._all > own and self._all + size > self._limit:
            raise NotReady("too many events wait to be stored; try again in a moment")
        self._held[sandbox_id] += size
        self._all += size

    def give_back(self, sandbox_id: str, size: int) -> None:
        """Hold less."""
        self._all -= size
        self._held[sandbox_id] -= size
        if self._held[sandbox_id] <= 0:
            del self._held[sandbox_id]


class Place:
    """What one post holds."""

    def __init__(self, room: Room, sandbox_id: str) -> None:
        self._room, self._sandbox_id = room, sandbox_id
        self._size = 0

    def __enter__(self) -> Self:
        self._take(REQUEST_BYTES)
        return self

    def __exit__(self, *_: type[BaseException] | BaseException | TracebackType | None) -> None:
        self._room.give_back(self._sandbox_id, self._size)

    def take_body(self, size: int) -> None:
        """So many more bytes have come."""
        self._take(BYTE_BYTES * size)

    def take_events(self, number: int) -> None:
        """So many events are in it."""
        self._take(EVENT_BYTES * number)

    def _take(self, size: int) -> None:
        self._room.take(self._sandbox_id, size, own=self._size)
        self._size += size
