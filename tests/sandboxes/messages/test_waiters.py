"""Those who wait for a sandbox are woken by one listener, and nobody waits for longer than asked."""

import asyncio
from collections.abc import AsyncIterator, Sequence
from contextlib import asynccontextmanager

import pytest

from omoi_os.bus.base import Topic, Wakeup
from omoi_os.bus.memory import MemoryBus
from omoi_os.bus.postgres import PostgresBus
from omoi_os.db.base import Sessions
from omoi_os.sandboxes.messages.waiters import MAX_EACH, Waiters


class CountingBus(MemoryBus):
    """Says how often it was listened to, and wakes without a transaction."""

    def __init__(self) -> None:
        super().__init__()
        self.listeners = 0

    @asynccontextmanager
    async def listen(self, *topics: Topic) -> AsyncIterator[AsyncIterator[Wakeup]]:
        self.listeners += 1
        async with super().listen(*topics) as wakeups:
            yield wakeups

    def wake(self, topic: Topic, key: str, *, resync: bool = False) -> None:
        for inbox in self._listeners:
            if resync:
                inbox.resync()
            else:
                inbox.put(topic, key)


class Shelf:
    """Something to look at, which tells of each look."""

    def __init__(self) -> None:
        self.found: list[str] = []
        self.looks: asyncio.Queue[None] = asyncio.Queue()

    async def look(self) -> Sequence[str]:
        self.looks.put_nowait(None)
        return list(self.found)


@pytest.fixture
def bus() -> CountingBus:
    return CountingBus()


@pytest.fixture
async def waiters(bus: CountingBus) -> AsyncIterator[Waiters]:
    made = Waiters(bus)
    yield made
    await made.close()


async def test_a_wakeup_about_the_sandbox_ends_the_wait(bus: CountingBus, waiters: Waiters) -> None:
    shelf, other = Shelf(), Shelf()
    waiting = asyncio.create_task(waiters.until_found("a", shelf.look, seconds=60))
    elsewhere = asyncio.create_task(waiters.until_found("b", other.look, seconds=60))
    await shelf.looks.get()
    await other.looks.get()

    bus.wake(Topic.MESSAGES, "a")
    await shelf.looks.get()
    shelf.found = other.found = ["news"]
    bus.wake(Topic.SANDBOXES, "a")

    assert await asyncio.wait_for(waiting, 10) == ["news"]
    assert (other.looks.empty(), elsewhere.done(), bus.listeners) == (True, False, 1)
    bus.wake(Topic.MESSAGES, "", resync=True)
    assert await asyncio.wait_for(elsewhere, 10) == ["news"]


async def test_what_comes_between_the_look_and_the_wait_is_not_missed(bus: CountingBus, waiters: Waiters) -> None:
    shelf = Shelf()

    async def look_too_early() -> Sequence[str]:
        found = await shelf.look()
        if not found:
            shelf.found = ["news"]
            bus.wake(Topic.MESSAGES, "a")
            await asyncio.sleep(0)
        return found

    assert await asyncio.wait_for(waiters.until_found("a", look_too_early, seconds=60), 10) == ["news"]


async def test_the_wait_is_over_in_time(waiters: Waiters) -> None:
    shelf = Shelf()

    assert await waiters.until_found("a", shelf.look, seconds=0.01) == []
    assert shelf.looks.qsize() == 1


async def test_one_too_many_sends_the_oldest_home(waiters: Waiters) -> None:
    shelf = Shelf()
    waiting = []
    for _ in range(MAX_EACH + 1):
        waiting.append(asyncio.create_task(waiters.until_found("a", shelf.look, seconds=60)))
        await shelf.looks.get()

    assert await asyncio.wait_for(waiting[0], 10) == []
    assert not any(task.done() for task in waiting[1:])
    await waiters.close()
    assert await asyncio.wait_for(asyncio.gather(*waiting), 10) == [[]] * (MAX_EACH + 1)


async def test_a_failing_look_ends_the_wait_and_leaves_nobody_behind(bus: CountingBus, waiters: Waiters) -> None:
    async def fail() -> Sequence[str]:
        raise LookupError("no such sandbox")

    with pytest.raises(LookupError):
        await waiters.until_found("a", fail, seconds=60)
    assert not waiters._waiting


async def test_after_the_close_nobody_waits(waiters: Waiters) -> None:
    shelf = Shelf()
    await waiters.close()

    assert await asyncio.wait_for(waiters.until_found("a", shelf.look, seconds=0.05), 10) == []


async def test_a_commit_on_postgresql_ends_the_wait(database_url: str, sessions: Sessions) -> None:
    bus = PostgresBus(database_url)
    waiters = Waiters(bus)
    shelf = Shelf()
    waiting = asyncio.create_task(waiters.until_found("a", shelf.look, seconds=60))
    await shelf.looks.get()
    shelf.found = ["news"]
    async with sessions.begin() as session:
        await bus.announce(session, Topic.MESSAGES, "a")

    assert await asyncio.wait_for(waiting, 10) == ["news"]
    await waiters.close()
