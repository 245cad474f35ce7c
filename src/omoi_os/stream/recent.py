"""The newest items, kept briefly so that a subscription that is almost current needs no query."""

import time
from bisect import bisect_right
from collections.abc import Sequence

from omoi_os.stream.position import Position
from omoi_os.stream.reader import Item

MAX_ITEMS = 2000
MAX_BYTES = 2 * 1024 * 1024
#: The audience of an item is that of the moment it was read, so items are not kept for long.
MAX_SECONDS = 10.0


class Recent:
    """Every item behind `start`, in order."""

    def __init__(self, start: Position) -> None:
        self.start = start
        self._items: list[Item] = []
        self._read_at: list[float] = []
        self._bytes = 0

    def add(self, items: Sequence[Item]) -> None:
        """Add items, and drop those that are too old or exceed the limits."""
        self._items += items
        self._read_at += [time.monotonic()] * len(items)
        self._bytes += sum(len(item.frame) for item in items)
        self._trim()

    def after(self, position: Position) -> Sequence[Item] | None:
        """Return the items behind a position; None if some of them were dropped."""
        self._trim()
        if position < self.start:
            return None
        return self._items[bisect_right(self._items, position, key=lambda item: item.position) :]

    def _trim(self) -> None:
        number = max(0, len(self._items) - MAX_ITEMS)
        number = max(number, bisect_right(self._read_at, time.monotonic() - MAX_SECONDS))
        rest = self._bytes - sum(len(item.frame) for item in self._items[:number])
        while rest > MAX_BYTES:
            rest -= len(self._items[number].frame)
            number += 1
        if number:
            self.start = self._items[number - 1].position
            self._bytes = rest
            del self._items[:number], self._read_at[:number]
