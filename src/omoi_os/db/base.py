"""The declarative base, the engine and its sessions."""

import select
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from datetime import datetime
from typing import Any
from uuid import UUID

from sqlalchemy import JSON, DateTime, MetaData, Text, event
from sqlalchemy import Uuid as UuidType
from sqlalchemy.exc import DisconnectionError
from sqlalchemy.ext.asyncio import AsyncEngine, AsyncSession, async_sessionmaker, create_async_engine
from sqlalchemy.orm import DeclarativeBase

from omoi_os.db.connection import Connection

NAMING = {
    "ix": "ix_%(table_name)s_%(column_0_N_name)s",
    "uq": "uq_%(table_name)s_%(column_0_N_name)s",
    "ck": "ck_%(table_name)s_%(constraint_name)s",
    "fk": "fk_%(table_name)s_%(column_0_N_name)s",
    "pk": "pk_%(table_name)s",
}


class Base(DeclarativeBase):
    """The base of all tables. Times are UTC with zone; JSON is text, because jsonb refuses some valid JSON."""

    metadata = MetaData(naming_convention=NAMING)
    type_annotation_map = {
        datetime: DateTime(timezone=True),
        str: Text,
        UUID: UuidType,
        dict[str, Any]: JSON,
        list[str]: JSON,
        list[dict[str, Any]]: JSON,
    }


Sessions = async_sessionmaker[AsyncSession]


def driver_url(url: str) -> str:
    """Return the address with the driver that the platform uses, however the user wrote it."""
    scheme, separator, rest = url.partition("://")
    return f"postgresql+psycopg{separator}{rest}" if scheme in ("postgres", "postgresql") else url


def plain_url(url: str) -> str:
    """Return the address in the form that the database's own client library accepts."""
    scheme, separator, rest = url.partition("://")
    return f"postgresql{separator}{rest}" if scheme.startswith("postgresql+") else url


def make_engine(url: str, *, pool_size: int = 10) -> AsyncEngine:
    """Return an engine that detects closed connections before it uses them."""
    engine = create_async_engine(
        driver_url(url),
        pool_size=pool_size,
        max_overflow=pool_size,
        connect_args={"options": "-c timezone=UTC", "async_creator_fn": Connection.connect},
    )
    event.listen(engine.sync_engine, "checkout", _refuse_if_hung_up)
    return engine


def _refuse_if_hung_up(connection: Any, _record: Any, _proxy: Any) -> None:
    """Make the pool reconnect if the server has closed this connection, without a round trip."""
    poll = select.poll()
    poll.register(connection.driver_connection.fileno(), select.POLLIN)
    # No statement is running, so anything to read means that the server closed the connection.
    if poll.poll(0):
        raise DisconnectionError("the server has closed this connection")


def make_sessions(engine: AsyncEngine) -> Sessions:
    """Return sessions whose objects stay readable after the commit."""
    return async_sessionmaker(engine, expire_on_commit=False)


@asynccontextmanager
async def own_connection(session: AsyncSession) -> AsyncIterator[None]:
    """Give the session a connection that is closed when the block ends; commit before that.

    For large values: a connection that goes back to the pool keeps the memory that they took.
    """
    connection = await session.connection()
    driver = (await connection.get_raw_connection()).driver_connection
    assert isinstance(driver, Connection)  # noqa: S101  `make_engine` makes no other
    await connection.run_sync(lambda plain: plain.detach())
    try:
        yield
    except BaseException:
        await session.rollback()
        raise
    finally:
        await driver.close()
