"""The schema that migrations make is the one that the models describe."""

import asyncio

from alembic.autogenerate import compare_metadata
from alembic.migration import MigrationContext
from sqlalchemy import Connection, text

from omoi_os.db.base import make_engine
from omoi_os.db.migrate import upgrade
from omoi_os.db.models import metadata


async def test_models_and_migrations_agree(database_url: str) -> None:
    def differences(connection: Connection) -> list[object]:
        context = MigrationContext.configure(connection, opts={"compare_server_default": True})
        return list(compare_metadata(context, metadata))

    engine = make_engine(database_url)
    async with engine.connect() as connection:
        found = await connection.run_sync(differences)
    await engine.dispose()

    assert found == []


async def test_many_processes_may_migrate_at_once(database_url: str) -> None:
    engine = make_engine(database_url)
    async with engine.begin() as connection:
        await connection.execute(text("DROP SCHEMA public CASCADE"))
        await connection.execute(text("CREATE SCHEMA public"))

    await asyncio.gather(*(upgrade(database_url) for _ in range(4)))

    async with engine.connect() as connection:
        versions = (await connection.execute(text("SELECT count(*) FROM alembic_version"))).scalar_one()
    await engine.dispose()
    assert versions == 1
