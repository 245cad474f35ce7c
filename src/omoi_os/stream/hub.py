"""One reader of the outbox per process, and everyone in this process whom it tells."""

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
from omoi_os.errors import NotReady, TooMany
from omoi_os.stream import horizon, reader
from omoi_os.stream.client import TOO_SLOW, TRY_AGAIN, Listener, Subscription
from omoi_os.stream.index import Index
from omoi_os.stream.position import Position
from omoi_os.stream.reader import Item
from omoi_os.stream.recent import Recent

log = logging.getLogger(__name__)

#: A lost wake-up costs no more than this.
SAFETY_SECONDS = 5.0
#: The end of an older transaction is announced by nobody, so while something waits for it we look again soon.
LATER_SECONDS = (0.002, 0.005, 0.01, 0.02, 0.05)
#: Reads do not follow each other faster: what comes meanwhile is read together.
PACE_SECONDS = 0.002
RECONNECT_SECONDS = 0.5
START_SECONDS = 5.0
#: After so many bytes for everyone the sockets get a chance to send.
SLICE_BYTES = 64 * 1024
#: Reads of the table for those who catch up, at one time.
MAX_READS = 4


class Recheck(Protocol):
    """Drops the clients whose key or session is no longer valid, and updates what the others may see."""

    async def __call__(self, connection: AsyncConnection, listeners: Sequence[Listener]) -> None:
        """Check them all with one query."""


class Hub:
    """Reads while someone listens. It never waits for a client: one who is too slow is dropped and can resume."""

    def __init__(self, sessions: Sessions, bus: Bus, *, recheck: Recheck, each: int = 64) -> None:
        self._sessions = sessions
        self._bus = bus
        self._recheck = recheck
        self._each = each
        self._held: Counter[UUID] = Counter()
        self._index = Index()
        self._listeners: dict[Listener, None] = {}
        self._watchers: dict[str, set[asyncio.Event]] = {}
        self._reading: asyncio.Task[None] | None = None
        self._started = asyncio.Event()
        self._recent: Recent | None = None
        self._reads = asyncio.Semaphore(MAX_READS)
        self._closing = False
        #: A key, a session or a user's rights have changed since the listeners were last checked.
        self._access_changed = False
        #: Open transactions of other databases on the server, which no reader waits for.
        self.foreign: frozenset[int] = frozenset()
        #: Everything up to here was told.
        self.position = Position(0, 0, 0)

    @asynccontextmanager
    async def joined(self, listener: Listener) -> AsyncIterator[None]:
        """With the listener among those who are told; its subscriptions are added meanwhile.

        `TooMany` for a person who holds enough connections here already.
        """
        user_id = listener.viewer.user_id
        if self._held[user_id] >= self._each:
            raise TooMany(f"at most {self._each} connections to the stream for one user; close one first")
        self._held[user_id] += 1
        self._listeners[listener] = None
        try:
            await self._ensure_reading()
            yield
        finally:
            self._leave(listener)
            self._held[user_id] -= 1
            if not self._held[user_id]:
                del self._held[user_id]

    @asynccontextmanager
    async def watching(self, sandbox_id: str) -> AsyncIterator[asyncio.Event]:
        """An event that is set whenever something of this sandbox was told, and when this process is to stop."""
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
        """Whether this process is to stop."""
        return self._closing

    async def close(self) -> None:
        """Ask everyone to come again, elsewhere or later."""
        self._closing = True
        for listener in list(self._listeners):
            listener.socket.hang_up(TRY_AGAIN, "the server stops; resume elsewhere or in a moment")
        self._wake_watchers()
        if self._reading is not None:
            self._reading.cancel()
            await asyncio.gather(self._reading, return_exceptions=True)

    def recent(self, position: Position) -> list[Item] | None:
        """Everything that was told behind a position, if that is still at hand."""
        found = self._recent.after(position) if self._recent is not None else None
        return None if found is None else list(found)

    def go_live(self, subscription: Subscription) -> None:
        """Tell it everything from now on; it has everything up to the hub's position."""
        subscription.live = True
        self._index.add(subscription)

    def drop_subscription(self, subscription: Subscription) -> None:
        """Tell it nothing more."""
        subscription.live = False
        self._index.discard(subscription)

    @asynccontextmanager
    async def reading(self) -> AsyncIterator[AsyncConnection]:
        """A connection for one read of the table; not more than a few at a time."""
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
            raise NotReady("the database does not answer; try again in a moment") from None

    async def _read_forever(self) -> None:
        """Until nobody listens. Whatever happens to the database or the bus, it goes on where it was."""
        async with self._bus.listen(*Topic) as wakeups:
            changed = asyncio.Event()

            async def hear() -> None:
                async for wakeup in wakeups:
                    if wakeup.topic is Topic.ACCESS or wakeup.resync:
                        self._access_changed = True
                        self._wake_watchers()
                    changed.set()

            hearing = asyncio.create_task(hear())
            try:
                while self._listeners or self._watchers:
                    try:
                        async with self._connection() as connection:
                            await self._follow(connection, changed)
                    except (SQLAlchemyError, OSError) as error:
                        log.warning("stream: cannot read, trying again: %s", str(error).partition("\n")[0])
                        await asyncio.sleep(RECONNECT_SECONDS)
                # From here to the end nothing is awaited in which someone could join unseen.
                self._reading, self._recent = None, None
                self._started.clear()
            finally:
                hearing.cancel()
                with contextlib.suppress(asyncio.CancelledError):
                    await hearing

    async def _follow(self, connection: AsyncConnection, changed: asyncio.Event) -> None:
        """Read on one connection, until it fails or nobody listens."""
        if self._recent is None:
            self.position = await reader.now(connection)
            self._recent = Recent(self.position)
        self._started.set()
        checked = asyncio.get_running_loop().time()
        waits = iter(LATER_SECONDS)
        while self._listeners or self._watchers:
            changed.clear()
            page = await reader.read(connection, self.position, foreign=self.foreign)
            await self._tell(page.items, self._recent)
            self.position = page.end
            if page.more:
                continue
            if page.items or not page.later:
                waits = iter(LATER_SECONDS)
            pause = next(waits, None) if page.later else SAFETY_SECONDS
            if pause is None:
                # It takes longer than our own transactions do: perhaps it is none of ours.
                self.foreign = await horizon.foreign_transactions(connection, known=self.foreign)
                pause = LATER_SECONDS[-1]
            with contextlib.suppress(TimeoutError):
                async with asyncio.timeout(pause):
                    await changed.wait()
            if page.items:
                await asyncio.sleep(PACE_SECONDS)
            if self._access_changed or asyncio.get_running_loop().time() - checked >= SAFETY_SECONDS:
                self._access_changed = False
                checked = asyncio.get_running_loop().time()
                await self._recheck(connection, list(self._listeners))

    async def _tell(self, items: list[Item], recent: Recent) -> None:
        """Tell everyone who wants an item. The position follows each, for whoever joins between two slices."""
        handed = 0
        for item in items:
            recent.add((item,))
            self.position = item.position
            for subscription in self._index.candidates(item):
                if subscription.wants(item):
                    handed += len(item.frame)
                    if not subscription.listener.tell(item):
                        self._drop(subscription.listener)
            for event in self._watchers.get(item.sandbox_id or "", ()):
                event.set()
            if handed > SLICE_BYTES:
                handed = 0
                await asyncio.sleep(0)

    def _drop(self, listener: Listener) -> None:
        """It does not read fast enough: it can resume from where it was told everything."""
        listener.say("resync", id=str(listener.resumable), reason="too slow; resume with since")
        listener.socket.hang_up(TOO_SLOW, "too slow; resume with since")
        self._leave(listener)

    def _wake_watchers(self) -> None:
        """Let those who follow one sandbox look again, at their own rights too."""
        for events in self._watchers.values():
            for event in events:
                event.set()

    def _leave(self, listener: Listener) -> None:
        for subscription in listener.subscriptions.values():
            self.drop_subscription(subscription)
        self._listeners.pop(listener, None)
