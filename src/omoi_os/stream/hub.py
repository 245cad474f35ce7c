"""One reader of the outbox per process, which delivers to all clients of the process."""

import asyncio
import contextlib
import logging
from collections import Counter
from collections.abc import AsyncIterator, Sequence
from contextlib import asynccontextmanager
from typing import Protocol
from uuid import UUID

from sqlalchemy.exc import SQLAlchemyError
from sqlalchemy.ext.asyncio import AsyncConnection

from omoi_os.bus.base import Bus, Topic
from omoi_os.db.base import Sessions
from omoi_os.errors import DatabaseUnavailable, TooMany
from omoi_os.stream import open_transactions, reader
from omoi_os.stream.client import TOO_SLOW, TRY_AGAIN, Client, Subscription
from omoi_os.stream.index import Index
from omoi_os.stream.position import Position
from omoi_os.stream.reader import Item
from omoi_os.stream.recent import Recent

log = logging.getLogger(__name__)

#: Upper bound for the delay after a lost wake-up.
SAFETY_SECONDS = 5.0
#: Delays before reading again while rows wait for an older transaction, whose end no wake-up announces.
LATER_SECONDS = (0.002, 0.005, 0.01, 0.02, 0.05)
#: Minimum delay between two reads, so that changes are read together.
PACE_SECONDS = 0.002
RECONNECT_SECONDS = 0.5
START_SECONDS = 5.0
#: After this many bytes for all clients the event loop gets a chance to send.
SLICE_BYTES = 64 * 1024
#: How many backfills may read the table at the same time.
MAX_READS = 4


class Recheck(Protocol):
    """Drops the clients whose key or session is no longer valid, and updates what the others may see."""

    async def __call__(self, connection: AsyncConnection, clients: Sequence[Client]) -> None:
        """Check all clients with one query."""


class Hub:
    """Reads while there are clients. It never waits for a client: one that is too slow is dropped and can resume."""

    def __init__(self, sessions: Sessions, bus: Bus, *, recheck: Recheck, each: int = 64) -> None:
        self._sessions = sessions
        self._bus = bus
        self._recheck = recheck
        self._each = each
        self._held: Counter[UUID] = Counter()
        self._index = Index()
        self._clients: dict[Client, None] = {}
        self._watchers: dict[str, set[asyncio.Event]] = {}
        self._reading: asyncio.Task[None] | None = None
        self._started = asyncio.Event()
        self._recent: Recent | None = None
        self._reads = asyncio.Semaphore(MAX_READS)
        self._closing = False
        #: Whether a key, a session or a user's rights have changed since the clients were last checked.
        self._access_changed = False
        #: Open transactions of other databases on the server, which need not end first.
        self.foreign: frozenset[int] = frozenset()
        #: Everything up to here was delivered.
        self.position = Position(0, 0, 0)

    @asynccontextmanager
    async def joined(self, client: Client) -> AsyncIterator[None]:
        """Deliver to the client while the block runs. Raise `TooMany` if its user has too many connections."""
        user_id = client.viewer.user_id
        if self._held[user_id] >= self._each:
            raise TooMany(f"you have {self._each} connections to the stream of this server; close one first")
        self._held[user_id] += 1
        self._clients[client] = None
        try:
            await self._ensure_reading()
            yield
        finally:
            self._leave(client)
            self._held[user_id] -= 1
            if not self._held[user_id]:
                del self._held[user_id]

    @asynccontextmanager
    async def watching(self, sandbox_id: str) -> AsyncIterator[asyncio.Event]:
        """Yield an event that is set on each change of this sandbox and when this process stops."""
        changed = asyncio.Event()
        self._watchers.setdefault(sandbox_id, set()).add(changed)
        try:
            self._start_reading()
            yield changed
        finally:
            self._watchers[sandbox_id].discard(changed)
            if not self._watchers[sandbox_id]:
                del self._watchers[sandbox_id]

    @property
    def closing(self) -> bool:
        """Return whether this process is stopping."""
        return self._closing

    async def close(self) -> None:
        """Close every connection; clients resume with another process or later."""
        self._closing = True
        for client in list(self._clients):
            client.socket.hang_up(TRY_AGAIN, "the server is stopping; reconnect in a moment")
        self._wake_watchers()
        if self._reading is not None:
            self._reading.cancel()
            await asyncio.gather(self._reading, return_exceptions=True)

    def recent(self, position: Position) -> list[Item] | None:
        """Return the items behind a position; None if some of them are no longer kept."""
        found = self._recent.after(position) if self._recent is not None else None
        return None if found is None else list(found)

    def go_live(self, subscription: Subscription) -> None:
        """Deliver everything from now on to a subscription that is complete up to the hub's position."""
        subscription.live = True
        self._index.add(subscription)

    def drop_subscription(self, subscription: Subscription) -> None:
        """Stop delivering to a subscription."""
        subscription.live = False
        self._index.discard(subscription)

    @asynccontextmanager
    async def reading(self) -> AsyncIterator[AsyncConnection]:
        """Yield a database connection for a backfill; the number at the same time is limited."""
        async with self._reads, self._connection() as connection:
            yield connection

    @asynccontextmanager
    async def _connection(self) -> AsyncIterator[AsyncConnection]:
        async with self._sessions() as session:
            yield await session.connection(execution_options={"isolation_level": "AUTOCOMMIT"})

    def _start_reading(self) -> None:
        if self._reading is None or self._reading.done():
            self._started.clear()
            self._reading = asyncio.create_task(self._read_forever())

    async def _ensure_reading(self) -> None:
        self._start_reading()
        try:
            async with asyncio.timeout(START_SECONDS):
                await self._started.wait()
        except TimeoutError:
            raise DatabaseUnavailable() from None

    async def _read_forever(self) -> None:
        """Read until there are no clients. After an error of the database or the bus, continue at the same position."""
        async with self._bus.listen(*Topic) as wakeups:
            changed = asyncio.Event()

            async def note_changes() -> None:
                async for wakeup in wakeups:
                    if wakeup.topic is Topic.ACCESS or wakeup.resync:
                        self._access_changed = True
                        self._wake_watchers()
                    changed.set()

            noting = asyncio.create_task(note_changes())
            try:
                while self._clients or self._watchers:
                    try:
                        async with self._connection() as connection:
                            await self._follow(connection, changed)
                    except (SQLAlchemyError, OSError) as error:
                        log.warning("stream: reading the outbox failed, retrying: %s", str(error).partition("\n")[0])
                        await asyncio.sleep(RECONNECT_SECONDS)
                # Nothing is awaited from here on, so no client can join unnoticed.
                self._reading, self._recent = None, None
                self._started.clear()
            finally:
                noting.cancel()
                with contextlib.suppress(asyncio.CancelledError):
                    await noting

    async def _follow(self, connection: AsyncConnection, changed: asyncio.Event) -> None:
        """Read on one connection until it fails or there are no clients."""
        if self._recent is None:
            self.position = await reader.now(connection)
            self._recent = Recent(self.position)
        self._started.set()
        checked = asyncio.get_running_loop().time()
        waits = iter(LATER_SECONDS)
        while self._clients or self._watchers:
            changed.clear()
            page = await reader.read(connection, self.position, foreign=self.foreign)
            await self._deliver(page.items, self._recent)
            self.position = page.end
            if page.more:
                continue
            if page.items or not page.later:
                waits = iter(LATER_SECONDS)
            pause = next(waits, None) if page.later else SAFETY_SECONDS
            if pause is None:
                # Our own transactions are shorter: it may belong to another database.
                self.foreign = await open_transactions.foreign_transactions(connection, known=self.foreign)
                pause = LATER_SECONDS[-1]
            with contextlib.suppress(TimeoutError):
                async with asyncio.timeout(pause):
                    await changed.wait()
            if page.items:
                await asyncio.sleep(PACE_SECONDS)
            if self._access_changed or asyncio.get_running_loop().time() - checked >= SAFETY_SECONDS:
                self._access_changed = False
                checked = asyncio.get_running_loop().time()
                # Kept items have the audience of the moment they were read: let subscriptions read them again.
                self._recent = Recent(self.position)
                await self._recheck(connection, list(self._clients))

    async def _deliver(self, items: list[Item], recent: Recent) -> None:
        """Send each item to the clients that want it. The position follows, because clients may join between slices."""
        sent = 0
        for item in items:
            recent.add((item,))
            self.position = item.position
            for subscription in self._index.candidates(item):
                if subscription.wants(item):
                    sent += len(item.frame)
                    if not subscription.client.send(item):
                        self._drop(subscription.client)
            for event in self._watchers.get(item.sandbox_id or "", ()):
                event.set()
            if sent > SLICE_BYTES:
                sent = 0
                await asyncio.sleep(0)

    def _drop(self, client: Client) -> None:
        """Drop a client that reads too slowly; it can resume from where it is complete."""
        client.send_control("resync", id=str(client.resumable), reason="too slow; resume with since")
        client.socket.hang_up(TOO_SLOW, "too slow; resume with since")
        self._leave(client)

    def _wake_watchers(self) -> None:
        """Wake the routes that follow one sandbox, which also check their access again."""
        for events in self._watchers.values():
            for event in events:
                event.set()

    def _leave(self, client: Client) -> None:
        for subscription in client.subscriptions.values():
            self.drop_subscription(subscription)
        self._clients.pop(client, None)
