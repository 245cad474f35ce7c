"""Which open transactions hold the stream back: only those of our own database that may still write a change."""

import asyncio
import shutil
import tempfile
from collections.abc import AsyncIterator, Iterator
from contextlib import asynccontextmanager, contextmanager
from pathlib import Path
from uuid import uuid4

import psycopg
import pytest
from sqlalchemy.ext.asyncio import AsyncConnection

from omoi_os.db import embedded
from omoi_os.db.base import Sessions, plain_url
from omoi_os.stream import open_transactions, reader
from omoi_os.stream.models import Change, Outbox
from omoi_os.stream.outbox import publish
from tests.builders import a_project
from tests.conftest import IN_MEMORY, sessions_on
from tests.stream.servers import Server, a_place, hear_until, numbers, serving


@contextmanager
def another_database(url: str) -> Iterator[str]:
    """The address of a second database on the same server."""
    name = f"other_{uuid4().hex}"
    server = psycopg.conninfo.make_conninfo(plain_url(url), dbname="postgres")
    with psycopg.connect(server, autocommit=True) as connection:
        connection.execute(f'CREATE DATABASE "{name}" STRATEGY FILE_COPY')
    try:
        yield psycopg.conninfo.make_conninfo(plain_url(url), dbname=name)
    finally:
        with psycopg.connect(server, autocommit=True) as connection:
            connection.execute(f'DROP DATABASE "{name}" WITH (FORCE)')


@contextmanager
def open_transaction(conninfo: str, *, holds_xid: bool = True) -> Iterator[psycopg.Connection[tuple[object, ...]]]:
    """A transaction that stays open for as long as the block."""
    with psycopg.connect(conninfo, application_name="somebody's report") as connection:
        connection.execute("SELECT pg_current_xact_id()" if holds_xid else "SELECT count(*) FROM pg_class")
        try:
            yield connection
        finally:
            connection.rollback()


@asynccontextmanager
async def reading(sessions: Sessions) -> AsyncIterator[AsyncConnection]:
    async with sessions() as session:
        yield await session.connection(execution_options={"isolation_level": "AUTOCOMMIT"})


async def _publish(sessions: Sessions, who: str) -> None:
    async with sessions.begin() as session:
        project = await a_project(session)
        publish(session, Change.TICKET_STATUS, {"who": who}, project_id=project.id)


async def test_a_transaction_in_another_database_does_not_stop_live_delivery(
    server: Server, sessions: Sessions, database_url: str
) -> None:
    place = await a_place(sessions)
    async with server.client() as client, server.listen(sandbox_id=place.sandbox_id) as socket:
        with another_database(database_url) as other, open_transaction(other):
            await place.post(client, 3)
            heard = await hear_until(socket, lambda item: item.get("seq") == 4)
            assert numbers(heard, place.sandbox_id)[-3:] == [2, 3, 4]
            since = heard[-1]["id"]
        await place.post(client, 1)
        heard = await hear_until(socket, lambda item: item.get("seq") == 5)
        assert numbers(heard, place.sandbox_id) == [5]
    async with server.listen(sandbox_id=place.sandbox_id, since=since) as socket:
        heard = await hear_until(socket, lambda item: item.get("seq") == 5)
        assert numbers(heard, place.sandbox_id) == [5]


async def test_resuming_elsewhere_while_a_foreign_transaction_is_open_needs_no_resync(
    server: Server, sessions: Sessions, database_url: str
) -> None:
    place = await a_place(sessions)
    with another_database(database_url) as other, open_transaction(other):
        async with server.client() as client, server.listen(sandbox_id=place.sandbox_id) as socket:
            await place.post(client, 2)
            since = (await hear_until(socket, lambda item: item.get("seq") == 3))[-1]["id"]
            async with (
                serving(database_url) as second,
                second.listen(sandbox_id=place.sandbox_id, since=since) as resumed,
            ):
                await place.post(client, 1)
                heard = await hear_until(resumed, lambda item: item.get("seq") == 4)
                assert [item["type"] for item in heard] == ["sandbox.event"]


async def test_a_place_to_begin_is_not_held_back_by_another_database(sessions: Sessions, database_url: str) -> None:
    with another_database(database_url) as other, open_transaction(other):
        await _publish(sessions, "before")
        async with reading(sessions) as connection:
            begin = await reader.now(connection)
    async with reading(sessions) as connection:
        assert (await reader.read(connection, begin)).items == []


async def test_only_a_transaction_that_may_still_write_holds_readers_back(
    sessions: Sessions, database_url: str
) -> None:
    own = plain_url(database_url)
    async with reading(sessions) as connection:
        begin = await reader.now(connection)
        with open_transaction(own, holds_xid=False):
            await _publish(sessions, "beside a transaction that only reads")
            page = await reader.read(connection, begin)
            assert (len(page.items), page.later) == (1, False)
        with open_transaction(own):
            await _publish(sessions, "beside one that has a number")
            known = await open_transactions.foreign_transactions(connection)
            held = await reader.read(connection, page.end, foreign=known)
            assert (held.items, held.later) == ([], True)
        assert len((await reader.read(connection, held.end)).items) == 1


async def test_our_own_unfinished_change_holds_readers_back_beside_a_foreign_one(
    sessions: Sessions, database_url: str
) -> None:
    async with sessions.begin() as session:
        project = await a_project(session)
    with another_database(database_url) as other, open_transaction(other):
        async with reading(sessions) as connection, sessions() as early:
            begin = await reader.now(connection)
            early.add(Outbox(change=Change.TICKET_STATUS, project_id=project.id, data={"who": "early"}))
            await early.flush()
            with open_transaction(other):
                await _publish(sessions, "late")
                known = await open_transactions.foreign_transactions(connection)
                assert len(known) == 2
                held = await reader.read(connection, begin, foreign=known)
                assert (held.items, held.later) == ([], True)
                await early.commit()
                page = await reader.read(connection, held.end, foreign=known)
                assert [b"early" in item.frame for item in page.items] == [True, False]


async def test_what_was_known_of_a_foreign_transaction_is_kept_while_it_lasts(
    sessions: Sessions, database_url: str
) -> None:
    with another_database(database_url) as other:
        async with reading(sessions) as connection:
            with open_transaction(other):
                await _publish(sessions, "a newer transaction")
                known = await open_transactions.foreign_transactions(connection)
                assert len(known) == 1
                assert await open_transactions.foreign_transactions(connection, known=known) == known
            assert await open_transactions.foreign_transactions(connection, known=known) == frozenset()


@pytest.fixture
def preparing_server(prepared: Path) -> Iterator[str]:
    """The address of a server that keeps prepared transactions, which must be allowed at its start."""
    folder = Path(tempfile.mkdtemp(prefix="omoi-pg-", dir=IN_MEMORY))
    try:
        shutil.copytree(prepared, folder, dirs_exist_ok=True)
        with next(folder.rglob("postgresql.auto.conf")).open("a") as written:
            written.write("max_prepared_transactions = 4\n")
        yield asyncio.run(embedded.start(folder))
    finally:
        asyncio.run(embedded.stop(folder))
        shutil.rmtree(folder, ignore_errors=True)


def _prepare(conninfo: str, name: str) -> None:
    with psycopg.connect(conninfo, autocommit=True) as connection:
        connection.execute("BEGIN")
        connection.execute("SELECT pg_current_xact_id()")
        connection.execute(f"PREPARE TRANSACTION '{name}'")


async def test_a_prepared_transaction_holds_readers_back_only_in_our_database(preparing_server: str) -> None:
    async with sessions_on(preparing_server) as sessions, reading(sessions) as connection:
        begin = await reader.now(connection)
        with another_database(preparing_server) as other:
            _prepare(other, "theirs")
            await _publish(sessions, "first")
            known = await open_transactions.foreign_transactions(connection)
            page = await reader.read(connection, begin, foreign=known)
            assert (len(page.items), page.later) == (1, False)
            _prepare(plain_url(preparing_server), "ours")
            await _publish(sessions, "second")
            known = await open_transactions.foreign_transactions(connection)
            held = await reader.read(connection, page.end, foreign=known)
            assert (held.items, held.later) == ([], True)
            holding = await open_transactions.long_transactions(connection, seconds=0)
            assert ["'ours'" in transaction.describe() for transaction in holding] == [True]
            with psycopg.connect(plain_url(preparing_server), autocommit=True) as own:
                own.execute("ROLLBACK PREPARED 'ours'")
            with psycopg.connect(other, autocommit=True) as foreign:
                foreign.execute("ROLLBACK PREPARED 'theirs'")
            assert len((await reader.read(connection, held.end)).items) == 1


async def test_a_long_transaction_of_our_database_is_named(sessions: Sessions, database_url: str) -> None:
    own = plain_url(database_url)
    with another_database(database_url) as other, open_transaction(other), open_transaction(own, holds_xid=False):
        async with reading(sessions) as connection:
            assert await open_transactions.long_transactions(connection, seconds=0) == []
            with open_transaction(own) as session:
                assert await open_transactions.long_transactions(connection, seconds=600) == []
                [found] = await open_transactions.long_transactions(connection, seconds=0)
                assert found.pid == session.info.backend_pid
                said = found.describe()
                assert "somebody's report" in said
                assert f"pg_terminate_backend({found.pid})" in said
