"""Wake-ups on PostgreSQL."""

import asyncio

import psycopg

from omoi_os.bus.base import Topic, Wakeup
from omoi_os.bus.postgres import PostgresBus
from omoi_os.db.base import Sessions, plain_url


async def test_a_committed_announcement_wakes_listeners_of_its_topic(database_url: str, sessions: Sessions) -> None:
    bus = PostgresBus(database_url)
    async with bus.listen(Topic.TASKS) as wakeups:
        assert await anext(wakeups) == Wakeup(Topic.TASKS, "", resync=True)
        async with sessions() as session, session.begin():
            await bus.announce(session, Topic.SANDBOXES, "other")
            await bus.announce(session, Topic.TASKS, "mine")

        assert await asyncio.wait_for(anext(wakeups), 10) == Wakeup(Topic.TASKS, "mine")


async def test_what_is_rolled_back_wakes_nobody(database_url: str, sessions: Sessions) -> None:
    bus = PostgresBus(database_url)
    async with bus.listen(Topic.TASKS) as wakeups:
        await anext(wakeups)
        async with sessions() as session:
            await bus.announce(session, Topic.TASKS, "never")
            await session.rollback()
            await bus.announce(session, Topic.TASKS, "committed")
            await session.commit()

        assert (await asyncio.wait_for(anext(wakeups), 10)).key == "committed"


async def test_a_lost_connection_is_made_again_and_says_resync(database_url: str, sessions: Sessions) -> None:
    bus = PostgresBus(database_url)
    async with bus.listen(Topic.TASKS) as wakeups:
        await anext(wakeups)
        async with await psycopg.AsyncConnection.connect(plain_url(database_url), autocommit=True) as connection:
            await connection.execute(
                "SELECT pg_terminate_backend(pid) FROM pg_stat_activity"
                " WHERE query LIKE 'LISTEN%' AND datname = current_database()"
            )

        assert (await asyncio.wait_for(anext(wakeups), 10)).resync
        async with sessions() as session, session.begin():
            await bus.announce(session, Topic.TASKS, "after")
        assert (await asyncio.wait_for(anext(wakeups), 10)).key == "after"
