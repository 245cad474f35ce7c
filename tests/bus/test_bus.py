"""What every bus promises."""

import asyncio
from collections.abc import AsyncIterator
from pathlib import Path

import pytest

from omoi_os.bus.base import Bus, Topic, Wakeup
from omoi_os.bus.inbox import LIMIT
from omoi_os.bus.memory import MemoryBus
from omoi_os.bus.postgres import PostgresBus
from omoi_os.bus.redis import RedisBus
from omoi_os.db.base import Sessions
from tests.bus.servers import redis_server


@pytest.fixture(params=["memory", "postgres", "redis"])
async def bus(request: pytest.FixtureRequest, database_url: str, short_tmp: Path) -> AsyncIterator[Bus]:
    if request.param == "memory":
        yield MemoryBus()
    elif request.param == "postgres":
        yield PostgresBus(database_url)
    else:
        async with redis_server(short_tmp) as server:
            made = RedisBus(server.url)
            yield made
            await made.close()


async def _next(wakeups: AsyncIterator[Wakeup]) -> Wakeup:
    return await asyncio.wait_for(anext(wakeups), 20)


async def test_a_committed_announcement_wakes_listeners_of_its_topic(bus: Bus, sessions: Sessions) -> None:
    async with bus.listen(Topic.TASKS) as wakeups, bus.listen(Topic.SANDBOXES, Topic.TASKS) as others:
        assert await _next(wakeups) == Wakeup(Topic.TASKS, "", resync=True)
        assert {(await _next(others)).topic, (await _next(others)).topic} == {Topic.TASKS, Topic.SANDBOXES}
        async with sessions() as session, session.begin():
            await bus.announce(session, Topic.SANDBOXES, "other")
            await bus.announce(session, Topic.TASKS, "mine:with a colon")

        assert await _next(wakeups) == Wakeup(Topic.TASKS, "mine:with a colon")
        assert [(await _next(others)).key, (await _next(others)).key] == ["other", "mine:with a colon"]


async def test_nobody_is_woken_before_the_commit(bus: Bus, sessions: Sessions) -> None:
    async with bus.listen(Topic.TASKS) as wakeups:
        await _next(wakeups)
        async with sessions() as early, sessions() as late:
            await bus.announce(early, Topic.TASKS, "early")
            await bus.announce(late, Topic.TASKS, "late")
            await late.commit()
            assert (await _next(wakeups)).key == "late"
            await early.commit()
        assert (await _next(wakeups)).key == "early"


async def test_what_is_rolled_back_wakes_nobody(bus: Bus, sessions: Sessions) -> None:
    async with bus.listen(Topic.TASKS) as wakeups:
        await _next(wakeups)
        async with sessions() as session:
            await bus.announce(session, Topic.TASKS, "rolled back")
            await session.rollback()
            await bus.announce(session, Topic.TASKS, "closed")
            await session.close()
            await bus.announce(session, Topic.TASKS, "committed")
            await session.commit()
        assert (await _next(wakeups)).key == "committed"


async def test_a_released_savepoint_is_no_commit(bus: Bus, sessions: Sessions) -> None:
    async with bus.listen(Topic.TASKS) as wakeups:
        await _next(wakeups)
        async with sessions() as session:
            async with session.begin_nested():
                await bus.announce(session, Topic.TASKS, "not yet")
            await session.rollback()
            async with session.begin_nested():
                await bus.announce(session, Topic.TASKS, "now")
            await session.commit()
        assert (await _next(wakeups)).key == "now"


async def test_more_than_a_listener_holds_becomes_a_resync(bus: Bus, sessions: Sessions) -> None:
    async with bus.listen(Topic.TASKS) as wakeups:
        await _next(wakeups)
        async with sessions() as session, session.begin():
            for number in range(LIMIT + 10 if isinstance(bus, MemoryBus) else 10):
                await bus.announce(session, Topic.TASKS, str(number))
        first = await _next(wakeups)
        while first.key != "9" and not first.resync:
            first = await _next(wakeups)
        assert first.resync == isinstance(bus, MemoryBus)
