"""The order of the outbox, whatever the order of commits."""

from collections.abc import AsyncIterator

import pytest
from sqlalchemy import text
from sqlalchemy.ext.asyncio import AsyncConnection, AsyncSession

from omoi_os.bus.memory import MemoryBus
from omoi_os.db.base import Sessions
from omoi_os.protocol.events import EventType
from omoi_os.sandboxes import repository
from omoi_os.sandboxes.ingest.event_log import append_platform_event
from omoi_os.stream import reader
from omoi_os.stream.models import Change, Outbox
from omoi_os.stream.outbox import publish, publish_events
from omoi_os.stream.position import Position
from tests.builders import a_project, a_work_sandbox
from tests.conftest import NOON

FROM_THE_START = Position(0, 0, 0)


@pytest.fixture
async def connection(sessions: Sessions) -> AsyncIterator[AsyncConnection]:
    async with sessions() as session:
        yield await session.connection(execution_options={"isolation_level": "AUTOCOMMIT"})


async def _told(connection: AsyncConnection, after: Position = FROM_THE_START) -> tuple[list[str], Position]:
    page = await reader.read(connection, after)
    return [item.frame.decode(errors="replace") for item in page.items], page.end


async def test_what_commits_late_is_neither_skipped_nor_told_early(
    connection: AsyncConnection, sessions: Sessions
) -> None:
    async with sessions.begin() as session:
        project = await a_project(session)
    _, end = await _told(connection)
    async with sessions() as early, sessions() as late:
        early.add(Outbox(change=Change.TICKET_STATUS, project_id=project.id, data={"who": "early"}))
        await early.flush()
        publish(late, Change.TICKET_STATUS, {"who": "late"}, project_id=project.id)
        await late.commit()
        page = await reader.read(connection, end)
        assert (page.items, page.later) == ([], True)
        await early.commit()
    told, end = await _told(connection, page.end)
    assert ["early" in told[0], "late" in told[1], len(told)] == [True, True, 2]
    assert (await _told(connection, end))[0] == []


async def test_a_transaction_that_began_first_but_wrote_second_is_told_second(
    connection: AsyncConnection, sessions: Sessions
) -> None:
    async with sessions.begin() as session:
        sandbox, _ = await a_work_sandbox(session, MemoryBus(), now=NOON)
    _, end = await _told(connection)

    async def add(session: AsyncSession) -> int:
        row = await repository.lock(session, sandbox.id)
        return append_platform_event(session, row, EventType.SANDBOX_STARTED, {}, now=NOON).seq

    async with sessions() as first, sessions() as second:
        await first.execute(text("SELECT pg_current_xact_id()"))
        assert await add(second) == 2
        await second.commit()
        assert await add(first) == 3
        await first.commit()

    page = await reader.read(connection, end)
    assert [item.position.seq for item in page.items] == [2, 3]


async def test_a_read_resumes_in_the_middle_of_a_run(connection: AsyncConnection, sessions: Sessions) -> None:
    async with sessions.begin() as session:
        sandbox, _ = await a_work_sandbox(session, MemoryBus(), now=NOON)
        for _ in range(1200):
            append_platform_event(session, sandbox, EventType.SANDBOX_STARTED, {}, now=NOON)
    async with sessions.begin() as session:
        await session.execute(text("DELETE FROM outbox"))
        publish_events(
            session, project_id=sandbox.project_id, sandbox_id=sandbox.id, first_seq=1, last_seq=sandbox.last_seq
        )
    told: list[int] = []
    page = await reader.read(connection, FROM_THE_START)
    pages = 1
    while True:
        told += [item.position.seq for item in page.items]
        if not page.more:
            break
        page = await reader.read(connection, page.end)
        pages += 1
    assert told == list(range(1, 1202))
    assert pages >= 3
    for at in (1, 600, 1200):
        row = (await connection.execute(text("SELECT xid, id FROM outbox"))).one()
        rest = await reader.read(connection, Position(row.xid, row.id, at))
        assert rest.items[0].position.seq == at + 1


async def test_events_that_retention_took_do_not_stop_a_reader(connection: AsyncConnection, sessions: Sessions) -> None:
    async with sessions.begin() as session:
        await a_work_sandbox(session, MemoryBus(), now=NOON)
        await session.execute(text("DELETE FROM sandbox_events"))
    page = await reader.read(connection, FROM_THE_START)
    assert "sandbox.event" not in {item.type for item in page.items}
    assert len(page.items) >= 2
    assert not page.more
