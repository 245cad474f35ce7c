"""A client of the stream: its connection, its user and its subscriptions."""

import asyncio
from dataclasses import dataclass, field
from typing import Protocol
from uuid import UUID

from omoi_os.stream.filters import Filter
from omoi_os.stream.lines import control_line, text_frame
from omoi_os.stream.position import BEGINNING, Position
from omoi_os.stream.reader import Item

#: How many unsent bytes one client may have in this process before it is dropped as too slow.
MAX_BUFFERED = 64 * 1024
#: Close codes (RFC 6455).
TOO_SLOW, NO_LONGER_ALLOWED, TRY_AGAIN = 1013, 1008, 1012


class Socket(Protocol):
    """The server's end of a WebSocket. Only `drained` waits for the client."""

    @property
    def buffered(self) -> int:
        """Return the number of bytes that the operating system has not accepted yet."""

    def write(self, frame: bytes) -> None:
        """Send a whole frame."""

    def hang_up(self, code: int, reason: str) -> None:
        """Close with a reason; abort the connection if the client does not answer in time."""

    async def drained(self) -> None:
        """Wait until most buffered bytes are sent or the client is gone."""


@dataclass(slots=True, eq=False)
class Viewer:
    """The user of a connection, and what they may see; rechecked while the connection is open."""

    #: Id of the API key or browser session that authenticated the connection.
    credential_id: UUID
    user_id: UUID
    #: The user whose projects alone are visible, from `visibility.restricted_to`; None for every project.
    restricted_to: UUID | None

    def sees(self, item: Item) -> bool:
        """Return whether the user may see an item."""
        return self.restricted_to is None or self.restricted_to in item.audience


@dataclass(slots=True, eq=False)
class Subscription:
    """A named filter of one client, and its position."""

    name: str
    where: Filter
    client: "Client"
    #: It delivers everything behind this position.
    since: Position
    #: Whether it has caught up, so that the hub delivers new items to it.
    live: bool = False
    #: Position of the last item while it catches up.
    reached: Position = BEGINNING

    def wants(self, item: Item) -> bool:
        """Return whether it delivers this item."""
        where = self.where
        return (
            item.position > self.since
            and (where.types is None or where.wants(item.type))
            and (where.sandbox_id is None or where.sandbox_id == item.sandbox_id)
            and (where.project_id is None or where.project_id == item.project_id)
            and self.client.viewer.sees(item)
        )


@dataclass(slots=True, eq=False)
class Client:
    """A connection to the stream. Each item is sent once, however many of its subscriptions match."""

    socket: Socket
    viewer: Viewer
    #: Position of the last item that was sent.
    position: Position
    subscriptions: dict[str, Subscription] = field(default_factory=dict)
    #: Subscriptions catch up one after the other, so that none sends what another is about to send.
    backfilling: asyncio.Lock = field(default_factory=asyncio.Lock)
    _sent: Item | None = None

    def send(self, item: Item) -> bool:
        """Send an item unless it was sent; return False, without sending, if too many bytes are buffered."""
        if item is self._sent:
            return True
        if self.socket.buffered > MAX_BUFFERED:
            return False
        self._sent = item
        self.position = item.position
        self.socket.write(item.frame)
        return True

    @property
    def resumable(self) -> Position:
        """Return the position up to which every subscription is complete: a dropped client resumes here."""
        catching = [each for each in self.subscriptions.values() if not each.live]
        return min([self.position, *(max(each.since, each.reached) for each in catching)])

    def was_sent(self, item: Item) -> bool:
        """Return whether one of its live subscriptions has delivered this item."""
        return any(other.live and other.wants(item) for other in self.subscriptions.values())

    def send_control(self, kind: str, **fields: object) -> None:
        """Send a line about the stream itself."""
        self.socket.write(text_frame(control_line(kind, **fields)))
