"""Wake-ups on Redis, which may vanish and return at any time."""

import asyncio
from collections.abc import AsyncIterator
from pathlib import Path

import pytest

from omoi_os.bus.base import Topic
from omoi_os.bus.redis import RedisBus
from omoi_os.db.base import Sessions
from tests.bus.servers import RedisServer, redis_server


@pytest.fixture
async def server(short_tmp: Path) -> AsyncIterator[RedisServer]:
    async with redis_server(short_tmp) as made:
        yield made


async def _announce(bus: RedisBus, sessions: Sessions, key: str) -> None:
    async with asyncio.timeout(5), sessions() as session, session.begin():
        await bus.announce(session, Topic.TASKS, key)


async def test_a_restart_is_told_as_a_resync_and_later_announcements_arrive(
    server: RedisServer, sessions: Sessions
) -> None:
    bus = RedisBus(server.url)
    async with bus.listen(Topic.TASKS) as wakeups, asyncio.timeout(30):
        assert (await anext(wakeups)).resync
        server.kill()
        await _announce(bus, sessions, "lost")
        assert (await anext(wakeups)).resync
        await server.start()
        # A resync stands for everything before it, so an announcement may be part of one.
        while (await anext(wakeups)).key != "after":
            await _announce(bus, sessions, "after")
    await bus.close()


async def test_without_redis_nobody_fails_or_waits(server: RedisServer, sessions: Sessions) -> None:
    server.kill()
    bus = RedisBus(server.url)
    async with asyncio.timeout(10), bus.listen(Topic.TASKS) as wakeups:
        assert (await anext(wakeups)).resync
        for number in range(100):
            await _announce(bus, sessions, str(number))
        await server.start()
        assert (await anext(wakeups)).resync
    await bus.close()


async def test_what_was_lost_by_the_announcer_is_told_as_a_resync(server: RedisServer, sessions: Sessions) -> None:
    speaker, hearer = RedisBus(server.url), RedisBus(server.url)
    server.kill()
    await _announce(speaker, sessions, "lost")
    await server.start()
    async with hearer.listen(Topic.TASKS) as wakeups, asyncio.timeout(20):
        await anext(wakeups)
        assert (await anext(wakeups)).resync
    await speaker.close()
    await hearer.close()


async def test_listeners_look_at_everything_now_and_then(server: RedisServer) -> None:
    bus = RedisBus(server.url, safety_seconds=0.2)
    async with bus.listen(Topic.TASKS) as wakeups, asyncio.timeout(20):
        assert [(await anext(wakeups)).resync for _ in range(4)] == [True] * 4
    await bus.close()
