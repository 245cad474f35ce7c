"""The positions of the sandboxes that posted last, as this process left them. They may be out of date."""

from collections import OrderedDict

from omoi_os.sandboxes.ingest.event_log import Position

MAX_POSITIONS = 10_000


class PositionCache:
    """Keeps the positions that were used last. They must be compared with the rows before anything is stored."""

    def __init__(self, *, limit: int = MAX_POSITIONS) -> None:
        self._limit = limit
        self._positions: OrderedDict[str, Position] = OrderedDict()

    def get(self, sandbox_id: str) -> Position | None:
        """Return the position of a sandbox, if it is cached."""
        return self._positions.get(sandbox_id)

    def put(self, sandbox_id: str, position: Position) -> None:
        """Cache the position that a commit of this process left."""
        self._positions[sandbox_id] = position
        self._positions.move_to_end(sandbox_id)
        if len(self._positions) > self._limit:
            self._positions.popitem(last=False)

    def drop(self, sandbox_id: str) -> None:
        """Forget a position that may be out of date."""
        self._positions.pop(sandbox_id, None)
