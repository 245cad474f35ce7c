"""One who listens: a socket, who is behind it, and what it has subscribed to."""

import asyncio
from dataclasses import dataclass, field
from typing import Protocol
from uuid import UUID

from omoi_os.stream.filters import Filter
from omoi_os.stream.lines import control_line, text_frame
from omoi_os.stream.position import BEGINNING, Position
from omoi_os.stream.reader import Item

#: What may wait in this process for one client; then it is too slow.
MAX_BUFFERED = 64 * 1024
#: Why a connection is closed (RFC 6455).
TOO_SLOW, NO_LONGER_ALLOWED, TRY_AGAIN = 1013, 1008, 1012


class Socket(Protocol):
    """The server's end of a WebSocket. Nothing here waits for the client but `drained`."""

    @property
    def buffered(self) -> int:
        """Bytes that the client has not taken yet and the system does not hold."""

    def write(self, frame: bytes) -> None:
        """Hand over a whole frame."""

    def hang_up(self, code: int, reason: str) -> None:
        """Say why and close; a client that does not take it is cut off a moment later."""

    async def drained(self) -> None:
        """Until the client has taken most of what waits, or is gone."""


@dataclass(slots=True, eq=False)
class Viewer:
    """The person behind a socket, and what they may see. Shared with whoever checks that it is still true."""

    #: Of the API key or the browser session that they are known by.
    credential_id: UUID
    user_id: UUID
    #: Whose projects alone they see; None for everyone's.
    owner: UUID | None

    def sees(self, item: Item) -> bool:
        """Whether this is theirs to see."""
        return self.owner is None or item.owner == self.owner


@dataclass(slots=True, eq=False)
class Subscription:
    """A filter that a listener has named."""

    name: str
    where: Filter
    listener: "Listener"
    #: It brings everything behind this.
    since: Position
    #: Whether it has caught up: from then on the hub tells it.
    live: bool = False
    #: How far it has come while it catches up.
    reached: Position = BEGINNING

    def wants(self, item: Item) -> bool:
        """Whether it brings this item to its listener."""
        where = self.where
        return (
            item.position > self.since
            and (where.types is None or where.wants(item.type))
            and (where.sandbox_id is None or where.sandbox_id == item.sandbox_id)
            and (where.project_id is None or where.project_id == item.project_id)
            and self.listener.viewer.sees(item)
        )


@dataclass(slots=True, eq=False)
class Listener:
    """Told each item once, whichever of its subscriptions want it."""

    socket: Socket
    viewer: Viewer
    #: Of the last item that was handed over.
    position: Position
    subscriptions: dict[str, Subscription] = field(default_factory=dict)
    #: One subscription after the other catches up, so that none brings what another is about to.
    catching_up: asyncio.Lock = field(default_factory=asyncio.Lock)
    _told: Item | None = None

    def tell(self, item: Item) -> bool:
        """Hand over an item; False when too much waits already, and then it is not handed over."""
        if item is self._told:
            return True
        if self.socket.buffered > MAX_BUFFERED:
            return False
        self._told = item
        self.position = item.position
        self.socket.write(item.frame)
        return True

    @property
    def resumable(self) -> Position:
        """Where a client that is dropped goes on: up to here each subscription was told everything."""
        catching = [each for each in self.subscriptions.values() if not each.live]
        return min([self.position, *(max(each.since, each.reached) for each in catching)])

    def was_told(self, item: Item) -> bool:
        """Whether one of its live subscriptions has brought this item."""
        return any(other.live and other.wants(item) for other in self.subscriptions.values())

    def say(self, kind: str, **fields: object) -> None:
        """Send a line about the stream itself."""
        self.socket.write(text_frame(control_line(kind, **fields)))
