"""Pipelines: several statements sent over one connection in one round trip."""

import asyncio
from collections import deque
from collections.abc import AsyncIterator, Sequence
from contextlib import asynccontextmanager
from dataclasses import dataclass
from typing import Any

import psycopg
from psycopg import pq
from psycopg.errors import error_from_result
from sqlalchemy.ext.asyncio import AsyncConnection, AsyncSession

from omoi_os.db.connection import Connection
from omoi_os.errors import DatabaseUnavailable

Plain = psycopg.AsyncConnection[tuple[Any, ...]]
#: A row of a result, as text.
Row = tuple[str | None, ...]

_CLOSED = ""
_FAILED = (pq.ExecStatus.FATAL_ERROR, pq.ExecStatus.PIPELINE_ABORTED)


@dataclass(frozen=True, slots=True)
class Statement:
    """A statement that is prepared once on each connection, under its name."""

    name: str
    text: str


BEGIN = Statement("omoi_begin", "BEGIN")
#: Plan statements without looking at their values until the transaction ends: for arrays that never pays off.
PLAN_ONCE = Statement("omoi_plan_once", "SET LOCAL plan_cache_mode = force_generic_plan")
COMMIT = Statement("omoi_commit", "COMMIT")
ROLLBACK = Statement("omoi_rollback", "ROLLBACK")


async def open_pipeline(connection: AsyncConnection) -> tuple["Pipeline", Connection]:
    """Return a pipeline on a connection of one of our engines, and the driver's connection."""
    raw = (await connection.get_raw_connection()).driver_connection
    assert isinstance(raw, Connection)  # noqa: S101  `make_engine` creates no other
    return Pipeline(raw, raw.prepared), raw


@asynccontextmanager
async def in_session(session: AsyncSession, *, reading: bool = False) -> AsyncIterator["Pipeline"]:
    """Open a pipeline in a session's transaction, after its pending changes were written.

    With `reading`, no transaction is started: that is for one statement that only reads. Raises `NotReady` if the
    database does not answer.
    """
    await session.flush()
    connection = await session.connection()
    pipeline, raw = await open_pipeline(connection)
    if not reading and raw.pgconn.transaction_status == pq.TransactionStatus.IDLE:
        pipeline.send(BEGIN)
    try:
        yield pipeline
    except BaseException as error:
        if raw.closed:
            await connection.invalidate()
        if isinstance(error, psycopg.OperationalError):
            raise DatabaseUnavailable() from error
        raise


class Pipeline:
    """Sends statements over a connection that nothing else uses in the meantime.

    `prepared` holds the names of the statements that are prepared on this connection. After a `psycopg.Error` the
    connection is either usable, with its transaction rolled back, or closed.
    """

    def __init__(self, connection: Plain, prepared: set[str]) -> None:
        self._connection, self._prepared = connection, prepared
        self._encoding = connection.info.encoding
        #: The results to come: a statement's name if it is being prepared, None if it is being executed.
        self._sent: deque[str | None] = deque()

    def send(self, statement: Statement, *values: str | None) -> None:
        """Send a statement; it reaches the server by the time `results` is called."""
        server = self._connection.pgconn
        name = statement.name.encode()
        if server.pipeline_status == pq.PipelineStatus.OFF:
            server.enter_pipeline_mode()
        if statement.name not in self._prepared and statement.name not in self._sent:
            # The driver may have dropped it on the server without our knowing; closing a missing one is no error.
            server.send_close_prepared(name)
            server.send_prepare(name, statement.text.encode(self._encoding))
            self._sent += (_CLOSED, statement.name)
        given = [None if value is None else value.encode(self._encoding) for value in values]
        server.send_query_prepared(name, given)
        self._sent.append(None)

    async def results(self, *, last: bool) -> list[list[Row]]:
        """Return the rows of each statement that was sent since the last call.

        `last` ends the pipeline, so that the result of a COMMIT is known. Raises the `psycopg.Error` of the first
        statement that failed.
        """
        server = self._connection.pgconn
        try:
            if last:
                server.pipeline_sync()
            else:
                server.send_flush_request()
            found, error = await self._receive(len(self._sent))
            if error is None:
                if last:
                    await self._end()
                return found
            if not last:
                server.pipeline_sync()
            await self._end()
            await self._roll_back()
        except BaseException:
            # The state of the connection is unknown.
            server.finish()
            raise
        raise error

    async def _receive(self, count: int) -> tuple[list[list[Row]], psycopg.Error | None]:
        found: list[list[Row]] = []
        error: psycopg.Error | None = None
        for _ in range(count):
            prepared = self._sent.popleft()
            result = await self._next()
            if result.status in _FAILED:
                error = error or error_from_result(result, encoding=self._encoding)
            elif prepared:
                self._prepared.add(prepared)
            elif prepared is None:
                found.append(_rows(result, self._encoding))
        return found, error

    async def _next(self) -> "pq.abc.PGresult":
        """Return the result of one statement, after the mark behind it was read."""
        server = self._connection.pgconn
        result = None
        while True:
            while server.is_busy():
                await self._arrival()
                server.consume_input()
            part = server.get_result()
            if part is None:
                if result is not None:
                    return result
                raise psycopg.OperationalError("the database sent no result")
            result = part
            if part.status == pq.ExecStatus.PIPELINE_SYNC:
                return part

    async def _arrival(self) -> None:
        """Wait until there is something to read, and send what could not be sent at once."""
        loop = asyncio.get_running_loop()
        server = self._connection.pgconn
        ready: asyncio.Future[None] = loop.create_future()

        def wake() -> None:
            if not ready.done():
                ready.set_result(None)

        unsent = server.flush()
        loop.add_reader(server.socket, wake)
        if unsent:
            loop.add_writer(server.socket, wake)
        try:
            await ready
        finally:
            loop.remove_reader(server.socket)
            if unsent:
                loop.remove_writer(server.socket)

    async def _end(self) -> None:
        """Leave pipeline mode, after the mark behind the results was read."""
        self._sent.clear()
        while (await self._next()).status != pq.ExecStatus.PIPELINE_SYNC:
            pass
        self._connection.pgconn.exit_pipeline_mode()

    async def _roll_back(self) -> None:
        if self._connection.pgconn.transaction_status == pq.TransactionStatus.IDLE:
            return
        self.send(ROLLBACK)
        self._connection.pgconn.pipeline_sync()
        _, error = await self._receive(len(self._sent))
        await self._end()
        if error is not None:
            raise error


def _rows(result: "pq.abc.PGresult", encoding: str) -> list[Row]:
    columns = range(result.nfields)
    return [
        tuple(None if (value := result.get_value(row, column)) is None else str(value, encoding) for column in columns)
        for row in range(result.ntuples)
    ]


def text_array(values: Sequence[str]) -> str:
    """Return texts, which must not contain a unit separator, in one value for `string_to_array(…, chr(31))`."""
    return "\x1f".join(values)


def array(values: Sequence[object]) -> str:
    """Return values that need no quotes as an array literal; None becomes NULL."""
    return "{" + ",".join(["NULL" if value is None else str(value) for value in values]) + "}"
