"""The schema that migrations make is the one that the models describe."""

import asyncio
from uuid import uuid4

import pytest
from alembic import command
from alembic.autogenerate import compare_metadata
from alembic.migration import MigrationContext
from sqlalchemy import Connection, text
from sqlalchemy.ext.asyncio import AsyncSession

from omoi_os.bus.memory import MemoryBus
from omoi_os.db.base import make_engine
from omoi_os.db.migrate import alembic_config, upgrade
from omoi_os.errors import SetupError
from omoi_os.protocol.events import EventType
from omoi_os.sandboxes.ingest.event_log import append_platform_event
from omoi_os.sandboxes.models import ModelReservation, Transcript
from omoi_os.tables import metadata
from tests.builders import a_spec_sandbox, a_work_sandbox
from tests.conftest import NOON


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


async def test_a_database_of_a_newer_version_is_refused_with_one_sentence(database_url: str) -> None:
    engine = make_engine(database_url)
    async with engine.begin() as connection:
        await connection.execute(text("UPDATE alembic_version SET version_num = '9999'"))
    await engine.dispose()

    with pytest.raises(SetupError, match=r"schema 9999 of a newer version.*start the newer version") as refused:
        await upgrade(database_url)

    assert "\n" not in str(refused.value)


async def test_a_database_with_another_encoding_is_refused_with_one_sentence(database_url: str) -> None:
    engine = make_engine(database_url)
    async with engine.connect() as connection:
        free = await connection.execution_options(isolation_level="AUTOCOMMIT")
        name = f"latin_{uuid4().hex}"
        how = "ENCODING 'LATIN1' LC_COLLATE 'C' LC_CTYPE 'C' LOCALE_PROVIDER libc TEMPLATE template0"
        await free.execute(text(f"CREATE DATABASE {name} {how}"))
        try:
            other = engine.url.set(database=name).render_as_string(hide_password=False)
            with pytest.raises(SetupError, match=r"has the encoding LATIN1.*'UTF8'"):
                await upgrade(other)
        finally:
            await free.execute(text(f"DROP DATABASE {name}"))
    await engine.dispose()


async def test_sandboxes_of_an_earlier_release_keep_their_providers_names(database_url: str) -> None:
    rows = [("recorded", "a", "a", False), ("warm", "omoios-warm-1", None, False), ("kept", "kept", None, True)]
    rows.append(("creating", "creating", None, False))
    engine = make_engine(database_url)
    async with engine.begin() as connection:
        await connection.run_sync(lambda sync: command.downgrade(alembic_config(sync), "0014"))
        # Only the columns that the migration reads matter here.
        await connection.execute(text("SET LOCAL session_replication_role = replica"))
        for table in ("sandboxes", "sandbox_salvages"):
            query = text(
                "SELECT column_name FROM information_schema.columns WHERE table_name = :table AND is_nullable = 'NO'"
                " AND column_name NOT IN ('id', 'gateway_socket', 'sandbox_id', 'state')"
            )
            for name in (await connection.execute(query, {"table": table})).scalars():
                await connection.execute(text(f"ALTER TABLE {table} ALTER COLUMN {name} DROP NOT NULL"))
        for name, socket, ref, kept in rows:
            values = {"id": name, "socket": socket, "ref": ref}
            insert = "INSERT INTO sandboxes (id, gateway_socket, provider_ref) VALUES (:id, :socket, :ref)"
            await connection.execute(text(insert), values)
            if kept:
                insert = "INSERT INTO sandbox_salvages (sandbox_id, state) VALUES (:id, 'kept')"
                await connection.execute(text(insert), {"id": name})
        await connection.execute(
            text("INSERT INTO warm_sandboxes (ref, provider, site, owner) VALUES ('omoios-warm-2', 'local', 's', 1)")
        )
        await connection.run_sync(lambda sync: command.upgrade(alembic_config(sync), "0015"))
        refs = await connection.execute(text("SELECT id, provider_ref FROM sandboxes"))
        found = {row.id: row.provider_ref for row in refs}
        warm = (await connection.execute(text("SELECT id, provider_ref FROM warm_sandboxes"))).one()
    await engine.dispose()

    assert found == {"recorded": "a", "warm": "omoios-warm-1", "kept": "kept", "creating": None}
    assert tuple(warm) == ("omoios-warm-2", "omoios-warm-2")


async def test_tickets_of_an_earlier_release_get_the_status_failed(database_url: str) -> None:
    tasks = {
        "failed": ["failed", "completed"],
        "blocked": ["blocked", "failed"],
        "building": ["running", "failed"],
        "testing": ["verifying", "failed"],
    }
    columns = "id, project_id, title, description, priority, ticket_type, workflow_mode, status, acceptance, created_by"
    engine = make_engine(database_url)
    async with engine.begin() as connection:
        await connection.run_sync(lambda sync: command.downgrade(alembic_config(sync), "0016"))
        # Only the columns that the migration reads matter here.
        await connection.execute(text("SET LOCAL session_replication_role = replica"))
        for title, states in tasks.items():
            values = {"id": uuid4(), "other": uuid4(), "title": title}
            await connection.execute(
                text(
                    f"INSERT INTO tickets ({columns}) VALUES (:id, :other, :title, '', 'LOW', 'bug', 'quick',"
                    " 'blocked', '[]', :other)"
                ),
                values,
            )
            for state in states:
                await connection.execute(
                    text(
                        "INSERT INTO tasks (id, ticket_id, project_id, title, description, task_type, priority,"
                        " priority_rank, status, attempt, max_attempts, fence, cost_usd, tokens, created_by)"
                        " VALUES (gen_random_uuid(), :id, :other, '', '', '', 'LOW', 0, :state, 1, 1, 0, 0, 0, :other)"
                    ),
                    {"id": values["id"], "other": values["other"], "state": state},
                )
        await connection.run_sync(lambda sync: command.upgrade(alembic_config(sync), "head"))
        rows = (await connection.execute(text("SELECT title, status FROM tickets"))).all()
    await engine.dispose()

    assert {row.title: row.status for row in rows} == {title: title for title in tasks}


async def test_the_schema_without_specs_keeps_the_transcripts_of_tasks(database_url: str) -> None:
    engine = make_engine(database_url)
    async with AsyncSession(engine, expire_on_commit=False) as session, session.begin():
        bus = MemoryBus()
        worked, _ = await a_work_sandbox(session, bus, now=NOON)
        served, _ = await a_spec_sandbox(session, now=NOON)
        for sandbox in (worked, served):
            append_platform_event(session, sandbox, EventType.SANDBOX_STARTED, {}, now=NOON)
            session.add(Transcript(sandbox_id=sandbox.id, session_id="s", received_bytes=0, size_bytes=0))
        for subject in ({"task_id": worked.task_id}, {"spec_id": served.spec_id}):
            session.add(ModelReservation(id=uuid4(), gateway_id=uuid4(), amount_usd=1.0, expires_at=NOON, **subject))
    async with engine.begin() as connection:
        await connection.run_sync(lambda sync: command.downgrade(alembic_config(sync), "0017"))
        transcripts = (await connection.execute(text("SELECT sandbox_id, task_id FROM session_transcripts"))).all()
        reserved = (await connection.execute(text("SELECT task_id FROM model_reservations"))).scalars().all()
        await connection.run_sync(lambda sync: command.upgrade(alembic_config(sync), "head"))
        kept = (await connection.execute(text("SELECT id, task_id, spec_id FROM sandboxes"))).all()
    await engine.dispose()

    assert [tuple(row) for row in transcripts] == [(worked.id, worked.task_id)]
    assert list(reserved) == [worked.task_id]
    assert [tuple(row) for row in kept] == [(worked.id, worked.task_id, None)]
