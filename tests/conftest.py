"""What tests share: a real PostgreSQL server for the run, a fresh database for each test."""

import asyncio
import os
import shutil
import signal
import tempfile
from collections.abc import AsyncIterator, Iterator
from contextlib import asynccontextmanager, contextmanager
from datetime import UTC, datetime
from pathlib import Path
from uuid import uuid4

import psycopg
import pytest
from sqlalchemy.ext.asyncio import AsyncSession

from omoi_os.db import embedded
from omoi_os.db.base import Sessions, make_engine, make_sessions, plain_url
from omoi_os.db.migrate import upgrade
from omoi_os.system import open_files
from tests.api_process import ApiProcess

#: A folder in memory, if there is one: a database in it is copied ten times as fast, and nothing waits for a disk.
IN_MEMORY = "/dev/shm" if os.access("/dev/shm", os.W_OK) else "/tmp"

NOON = datetime(2026, 11, 15, 12, tzinfo=UTC)


#: What takes longest by far.
SLOW = frozenset({"e2e", "faults"})


def pytest_configure() -> None:
    """Some tests are a thousand clients in one process, as the server raises its own limit for."""
    open_files.raise_limit()
    if signal.getsignal(signal.SIGINT) is signal.SIG_IGN:
        # A run in the background ignores Ctrl-C, and so would every process that a test starts.
        signal.signal(signal.SIGINT, signal.default_int_handler)


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """The slow ones first: processes that share the tests then end together."""
    items.sort(key=lambda item: SLOW.isdisjoint(item.path.parts))


@pytest.fixture(scope="session")
def prepared() -> Iterator[Path]:
    """A data folder with a database of the newest schema and nothing else, in which nothing runs. To copy it takes a
    moment, to make one takes seconds."""
    folder = Path(tempfile.mkdtemp(prefix="omoi-pg-", dir=IN_MEMORY))
    try:
        asyncio.run(_make_database(folder))
        yield folder
    finally:
        shutil.rmtree(folder, ignore_errors=True)


async def _make_database(folder: Path) -> None:
    try:
        await upgrade(await embedded.start(folder))
    finally:
        await embedded.stop(folder)


@pytest.fixture(scope="session")
def postgres(prepared: Path) -> Iterator[str]:
    """The address of a server of this run, whose default database holds the newest schema and nothing else."""
    folder = Path(tempfile.mkdtemp(prefix="omoi-pg-", dir=IN_MEMORY))
    try:
        shutil.copytree(prepared, folder, dirs_exist_ok=True)
        url = asyncio.run(embedded.start(folder))
        _forget_crashes(url)
        yield url
    finally:
        asyncio.run(embedded.stop(folder))
        shutil.rmtree(folder, ignore_errors=True)


def _forget_crashes(url: str) -> None:
    """Turn off durability, because nothing here outlives this server. Tests of crashes start their own servers."""
    with psycopg.connect(plain_url(url), autocommit=True) as connection:
        for setting in ("fsync", "synchronous_commit", "full_page_writes"):
            connection.execute(f"ALTER SYSTEM SET {setting} = off")
        connection.execute("SELECT pg_reload_conf()")


@contextmanager
def fresh_database(postgres: str) -> Iterator[str]:
    """The address of a separate database with the newest schema."""
    name = f"test_{uuid4().hex}"
    template = psycopg.conninfo.conninfo_to_dict(plain_url(postgres))["dbname"]
    server = psycopg.conninfo.make_conninfo(plain_url(postgres), dbname="postgres")
    with psycopg.connect(server, autocommit=True) as connection:
        connection.execute(f'CREATE DATABASE "{name}" TEMPLATE "{template}" STRATEGY FILE_COPY')
    try:
        yield postgres.replace(f"/{template}?", f"/{name}?")
    finally:
        with psycopg.connect(server, autocommit=True) as connection:
            connection.execute(f'DROP DATABASE "{name}" WITH (FORCE)')


@asynccontextmanager
async def sessions_on(database_url: str) -> AsyncIterator[Sessions]:
    """Sessions on a database."""
    engine = make_engine(database_url)
    try:
        yield make_sessions(engine)
    finally:
        await engine.dispose()


@pytest.fixture
def database_url(postgres: str) -> Iterator[str]:
    """A database of this test's own."""
    with fresh_database(postgres) as url:
        yield url


@pytest.fixture
async def sessions(database_url: str) -> AsyncIterator[Sessions]:
    """Sessions on this test's database."""
    async with sessions_on(database_url) as made:
        yield made


@pytest.fixture
async def session(sessions: Sessions) -> AsyncIterator[AsyncSession]:
    """One session; what a test does not commit is gone."""
    async with sessions() as opened:
        yield opened


@contextmanager
def short_folder() -> Iterator[Path]:
    """A temporary folder with a path short enough for unix sockets below it."""
    folder = Path(tempfile.mkdtemp(prefix="omoi-", dir="/tmp"))
    try:
        yield folder
    finally:
        shutil.rmtree(folder, ignore_errors=True)


@pytest.fixture
def short_tmp() -> Iterator[Path]:
    """Such a folder of this test's own."""
    with short_folder() as folder:
        yield folder


@pytest.fixture(scope="module")
def shared_database_url(postgres: str) -> Iterator[str]:
    """A database for all tests of a file: each makes what it looks at itself."""
    with fresh_database(postgres) as url:
        yield url


@pytest.fixture
async def shared_sessions(shared_database_url: str) -> AsyncIterator[Sessions]:
    """Sessions on it."""
    async with sessions_on(shared_database_url) as made:
        yield made


@pytest.fixture(scope="module")
def shared_api(shared_database_url: str) -> Iterator[ApiProcess]:
    """A shared API process on it: starting one takes longer than most tests."""
    with short_folder() as folder:
        api = ApiProcess(folder, shared_database_url)
        try:
            asyncio.run(api.start())
            yield api
        finally:
            api.kill()
