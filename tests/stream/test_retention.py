"""Old changes are deleted, and a client that resumes from before them gets a resync."""

from datetime import UTC, datetime, timedelta

from sqlalchemy import func, select, text
from sqlalchemy.ext.asyncio import AsyncSession

from omoi_os.db.base import Sessions
from omoi_os.stream.models import PRUNED, Outbox
from omoi_os.stream.retention import prune
from tests.stream.servers import Server, a_place, hear, numbers


async def _changes(session: AsyncSession) -> list[str]:
    return list((await session.execute(select(Outbox.change).order_by(Outbox.xid, Outbox.id))).scalars())


async def test_the_old_is_deleted_and_the_newest_of_it_marks_the_place(sessions: Sessions) -> None:
    await a_place(sessions)
    async with sessions.begin() as session:
        before = len(await _changes(session))
        await session.execute(text("UPDATE outbox SET created_at = now() - interval '4 days'"))
    await a_place(sessions)

    assert await prune(sessions, before=datetime.now(UTC) - timedelta(days=3)) == before - 1
    assert await prune(sessions, before=datetime.now(UTC) - timedelta(days=3)) == 0
    async with sessions() as session:
        kept = await _changes(session)
    assert kept[0] == PRUNED
    assert len(kept) == 1 + before
    assert PRUNED not in kept[1:]


async def test_nothing_young_is_touched(sessions: Sessions) -> None:
    await a_place(sessions)
    async with sessions() as session:
        before = await _changes(session)
    assert await prune(sessions, before=datetime.now(UTC) - timedelta(days=3)) == 0
    async with sessions() as session:
        assert await _changes(session) == before


async def test_who_comes_from_before_is_told_to_look_at_everything_and_then_hears_the_rest(
    server: Server, sessions: Sessions
) -> None:
    place = await a_place(sessions)
    async with server.client() as client:
        async with server.listen(since="1-0-0") as socket:
            first = (await hear(socket, 1))[0]["id"]
        await place.post(client, 1)
        async with sessions.begin() as session:
            await session.execute(text("UPDATE outbox SET created_at = now() - interval '4 days'"))
            newest = (await session.execute(select(func.max(Outbox.xid)))).scalar_one()
        await prune(sessions, before=datetime.now(UTC) - timedelta(days=3))
        async with server.listen(since=first) as socket:
            said = (await hear(socket, 1))[0]
            await place.post(client, 1)
            heard = await hear(socket, 1)
        async with server.listen(since=f"{newest}-{2**62}-0") as socket:
            again = await hear(socket, 1)

    assert said["type"] == "resync"
    assert numbers(heard, place.sandbox_id) == numbers(again, place.sandbox_id) == [3]
    assert heard == again


async def test_from_the_beginning_means_all_that_is_kept(server: Server, sessions: Sessions) -> None:
    place = await a_place(sessions)
    async with server.client() as client:
        async with server.listen(since="0") as socket:
            whole = await hear(socket, 1)
        async with sessions.begin() as session:
            await session.execute(text("UPDATE outbox SET created_at = now() - interval '4 days'"))
        await prune(sessions, before=datetime.now(UTC) - timedelta(days=3))
        await place.post(client, 1)
        async with server.listen(since="0", types="sandbox.event") as socket:
            heard = await hear(socket, 1)

    assert whole[0]["type"] != "resync"
    assert numbers(heard, place.sandbox_id) == [2]


async def test_a_position_of_another_database_is_told_too(server: Server, sessions: Sessions) -> None:
    place = await a_place(sessions)
    async with server.listen(since="999999999999-1-0", types="sandbox.event") as socket, server.client() as client:
        said = (await hear(socket, 1))[0]
        await place.post(client, 1)
        heard = await hear(socket, 1)
    assert said["type"] == "resync"
    assert numbers(heard, place.sandbox_id) == [2]
