"""The pool of connections."""

import psycopg
from sqlalchemy import text

from omoi_os.db.base import Sessions, plain_url


async def test_a_connection_that_the_server_has_closed_is_replaced_before_it_is_used(
    database_url: str, sessions: Sessions
) -> None:
    own = text("SELECT pg_backend_pid()")
    async with sessions() as session:
        first = (await session.execute(own)).scalar_one()

    async with await psycopg.AsyncConnection.connect(plain_url(database_url), autocommit=True) as other:
        ended = await other.execute("SELECT pg_terminate_backend(%s, 10000)", [first])
        assert await ended.fetchone() == (True,)

    async with sessions() as session:
        assert (await session.execute(own)).scalar_one() != first
