"""Statements sent together: answered together, and after a failure the connection is in order or closed."""

import asyncio
from collections.abc import AsyncIterator

import psycopg
import pytest

from omoi_os.db.base import plain_url
from omoi_os.db.pipeline import BEGIN, COMMIT, Pipeline, Plain, Statement, array, text_array

ADD = Statement("t_add", "INSERT INTO noted SELECT unnest($1::int8[])")
LIST = Statement("t_list", "SELECT n, NULL FROM noted ORDER BY n")
FAIL = Statement("t_fail", "SELECT 1 / $1::int8")
END = Statement("t_end", "SELECT pg_terminate_backend(pg_backend_pid())")
SPLIT = Statement("t_split", "SELECT unnest(string_to_array($1, chr(31)))")


@pytest.fixture
async def connection(database_url: str) -> AsyncIterator[Plain]:
    made = await psycopg.AsyncConnection.connect(plain_url(database_url))
    await made.execute("CREATE TABLE noted (n bigint)")
    await made.commit()
    yield made
    await made.close()


async def test_answers_come_in_the_order_of_what_was_sent(connection: Plain) -> None:
    for _ in range(2):
        pipeline = Pipeline(connection, set())
        pipeline.send(BEGIN)
        pipeline.send(ADD, array([1, 2]))
        pipeline.send(LIST)
        assert (await pipeline.results(last=False))[2] == [("1", None), ("2", None)]
        pipeline.send(SPLIT, text_array(["ä", "{,\\"]))
        pipeline.send(Statement("t_clear", "DELETE FROM noted"))
        pipeline.send(COMMIT)
        assert (await pipeline.results(last=True))[0] == [("ä",), ("{,\\",)]
        await connection.execute("DEALLOCATE ALL")
        await connection.commit()


@pytest.mark.parametrize("last", [False, True])
async def test_a_failure_rolls_back_and_leaves_the_connection_in_order(connection: Plain, last: bool) -> None:
    prepared: set[str] = set()
    pipeline = Pipeline(connection, prepared)
    pipeline.send(BEGIN)
    pipeline.send(ADD, array([1]))
    pipeline.send(FAIL, "0")
    pipeline.send(COMMIT)
    with pytest.raises(psycopg.errors.DivisionByZero):
        await pipeline.results(last=last)

    assert "t_add" in prepared
    assert "omoi_commit" not in prepared
    assert not connection.closed
    again = Pipeline(connection, prepared)
    again.send(BEGIN)
    again.send(LIST)
    again.send(COMMIT)
    assert await again.results(last=True) == [[], [], []]


async def test_a_lost_connection_is_an_error_and_closed(connection: Plain) -> None:
    pipeline = Pipeline(connection, set())
    pipeline.send(BEGIN)
    pipeline.send(END)
    pipeline.send(COMMIT)
    with pytest.raises(psycopg.OperationalError):
        await pipeline.results(last=True)

    assert connection.closed


async def test_who_stops_waiting_closes_the_connection(connection: Plain) -> None:
    pipeline = Pipeline(connection, set())
    pipeline.send(Statement("t_sleep", "SELECT pg_sleep(60)"))
    with pytest.raises(TimeoutError):
        async with asyncio.timeout(0.05):
            await pipeline.results(last=True)

    assert connection.closed
