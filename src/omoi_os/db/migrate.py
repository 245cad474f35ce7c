"""Migrate the database to the newest schema, one process at a time."""

from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from alembic import command
from alembic.config import Config
from alembic.runtime.migration import MigrationContext
from alembic.script import ScriptDirectory
from sqlalchemy import Connection, text
from sqlalchemy.exc import OperationalError

from omoi_os.db.base import make_engine
from omoi_os.errors import SetupError

#: The advisory lock under which migrations run.
MIGRATION_LOCK = 0x6F6D6F69


def alembic_config(connection: Connection) -> Config:
    """Return Alembic's configuration for an open connection, with the migrations of this package."""
    config = Config()
    config.set_main_option("script_location", str(Path(__file__).parent / "migrations"))
    config.set_main_option("path_separator", "os")
    config.attributes["connection"] = connection
    return config


def _check(connection: Connection) -> None:
    """Raise `SetupError` for a database that this version cannot use, before anything is changed in it."""
    encoding = connection.execute(text("SHOW server_encoding")).scalar_one()
    name = connection.execute(text("SELECT current_database()")).scalar_one()
    if encoding != "UTF8":
        raise SetupError(
            f"the database {name!r} has the encoding {encoding}, which cannot hold every text; create another one with "
            "ENCODING 'UTF8' TEMPLATE template0 and set DATABASE_URL to it"
        )
    scripts = ScriptDirectory(str(Path(__file__).parent / "migrations"))
    known = {script.revision for script in scripts.walk_revisions()}
    unknown = set(MigrationContext.configure(connection).get_current_heads()) - known
    if unknown:
        raise SetupError(
            f"the database {name!r} has the schema {', '.join(sorted(unknown))} of a newer version, and this program "
            f"knows up to {scripts.get_current_head()}; start the newer version, or restore a backup from before it"
        )


def _upgrade(connection: Connection) -> None:
    connection.execute(text("SELECT pg_advisory_xact_lock(:key)"), {"key": MIGRATION_LOCK})
    _check(connection)
    command.upgrade(alembic_config(connection), "head")


@contextmanager
def answering() -> Iterator[None]:
    """Raise `SetupError` if the server does not answer or refuses the connection while a process starts."""
    try:
        yield
    except OperationalError as error:
        # The driver's advice is on separate, indented lines.
        said = [line for line in str(error.orig).splitlines() if line and not line[0].isspace()]
        raise SetupError(f"the database does not answer ({' '.join(said[-1:])}); check DATABASE_URL") from error


async def upgrade(database_url: str) -> None:
    """Apply missing migrations. Processes that start at the same time wait, then find nothing to do."""
    engine = make_engine(database_url, pool_size=1)
    try:
        async with engine.begin() as connection:
            await connection.run_sync(_upgrade)
    finally:
        await engine.dispose()
