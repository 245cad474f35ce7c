"""Statements sent together over one connection and answered together: a round trip for all of them, not for each."""

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
from omoi_os.errors import NotReady

Plain = psycopg.AsyncConnection[tuple[Any, ...]]
#: A row of an answer, as text.
Found = tuple[str | None, ...]

_CLOSED = ""
_FAILED = (pq.ExecStatus.FATAL_ERROR, pq.ExecStatus.PIPELINE_ABORTED)


@dataclass(frozen=True, slots=True)
class Statement:
    """What is prepared once on each connection, under its name."""

    name: str
    text: str


BEGIN = Statement("omoi_begin", "BEGIN")
#: For statements whose values are arrays: until the transaction ends they are not planned anew for each.
PLANNED = Statement("omoi_planned", "SET LOCAL plan_cache_mode = force_generic_plan")
COMMIT = Statement("omoi_commit", "COMMIT")
ROLLBACK = Statement("omoi_rollback", "ROLLBACK")


async def on(connection: AsyncConnection) -> tuple["Pipeline", Connection]:
    """A pipeline on a connection of an engine of ours, and the driver's own connection."""
    raw = (await connection.get_raw_connection()).driver_connection
    assert isinstance(raw, Connection)  # noqa: S101  `make_engine` makes no other
    return Pipeline(raw, raw.prepared), raw


@asynccontextmanager
async def in_session(session: AsyncSession, *, reading: bool = False) -> AsyncIterator["Pipeline"]:
    """A pipeline in a session's transaction; with `reading` for one statement that needs no transaction.

    What the session has not written yet is written before. `NotReady` when the database does not answer.
    """
    await session.flush()
    connection = await session.connection()
    pipeline, raw = await on(connection)
    if not reading and raw.pgconn.transaction_status == pq.TransactionStatus.IDLE:
        pipeline.send(BEGIN)
    try:
        yield pipeline
    except BaseException as error:
        if raw.closed:
            await connection.invalidate()
        if isinstance(error, psycopg.OperationalError):
            raise NotReady("the database does not answer; try again in a moment") from error
        raise


class Pipeline:
    """Sends statements over a connection that nobody else uses meanwhile.

    `prepared` holds the names that this connection knows already, and is kept with it. Whatever raises `psycopg.Error`
    leaves a connection that is either in order, its transaction rolled back, or closed.
    """

    def __init__(self, connection: Plain, prepared: set[str]) -> None:
        self._connection, self._prepared = connection, prepared
        self._encoding = connection.info.encoding
        #: What will be answered: the name to remember for a preparation, None for a statement.
        self._sent: deque[str | None] = deque()

    def send(self, statement: Statement, *values: str | None) -> None:
        """Hand a statement over; it is on its way when the answers are asked for."""
        server = self._connection.pgconn
        name = statement.name.encode()
        if server.pipeline_status == pq.PipelineStatus.OFF:
            server.enter_pipeline_mode()
        if statement.name not in self._prepared and statement.name not in self._sent:
            # Closing what is not there is no error, and what the driver had the server forget may be there or not.
            server.send_close_prepared(name)
            server.send_prepare(name, statement.text.encode(self._encoding))
            self._sent += (_CLOSED, statement.name)
        given = [None if value is None else value.encode(self._encoding) for value in values]
        server.send_query_prepared(name, given)
        self._sent.append(None)

    async def answers(self, *, last: bool) -> list[list[Found]]:
        """The rows of each statement since the last time. `last` ends the pipeline: behind it stands the transaction's
        own answer. `psycopg.Error` for the first statement that failed."""
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
            # Where it stands is not known any more.
            server.finish()
            raise
        raise error

    async def _receive(self, count: int) -> tuple[list[list[Found]], psycopg.Error | None]:
        found: list[list[Found]] = []
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
        """The answer to one statement, and the mark behind it."""
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
                raise psycopg.OperationalError("the database sent no answer")
            result = part
            if part.status == pq.ExecStatus.PIPELINE_SYNC:
                return part

    async def _arrival(self) -> None:
        """Until there is something to read, while what could not be sent at once goes out."""
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
        """Leave the pipeline; its own mark comes behind the answers."""
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


def _rows(result: "pq.abc.PGresult", encoding: str) -> list[Found]:
    columns = range(result.nfields)
    return [
        tuple(None if (value := result.get_value(row, column)) is None else str(value, encoding) for column in columns)
        for row in range(result.ntuples)
    ]


def joined(values: Sequence[str]) -> str:
    """Texts without a unit separator in them, as `string_to_array(…, chr(31))` takes them apart."""
    return "\x1f".join(values)


def numbers(values: Sequence[object]) -> str:
    """Whatever needs no quotes, as the text of an array; None is null."""
    return "{" + ",".join(["NULL" if value is None else str(value) for value in values]) + "}"
