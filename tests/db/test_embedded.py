"""The embedded PostgreSQL: its first start, its restarts, and what a kill leaves behind."""

import asyncio
import os
import shutil
import signal
import tempfile
from collections.abc import AsyncIterator
from pathlib import Path

import psycopg
import pytest

from omoi_os.db import embedded, postmaster
from omoi_os.errors import SetupError


@pytest.fixture
async def data_dir() -> AsyncIterator[Path]:
    # A folder of pytest's would be too long for a unix socket.
    folder = Path(tempfile.mkdtemp(prefix="omoi-", dir="/tmp"))
    yield folder
    await embedded.stop(folder)
    shutil.rmtree(folder)


def connect(data_dir: Path) -> psycopg.Connection[tuple[object, ...]]:
    return psycopg.connect(embedded.url(data_dir).replace("+psycopg", ""), autocommit=True)


def setting(data_dir: Path, name: str) -> object:
    with connect(data_dir) as connection:
        row = connection.execute("SELECT current_setting(%s)", [name]).fetchone()
    assert row is not None
    return row[0]


def cluster(data_dir: Path) -> Path:
    return data_dir / "postgres" / "data"


def server(data_dir: Path) -> int:
    pid = postmaster.find(cluster(data_dir))
    assert pid is not None
    return pid


async def kill(pid: int) -> None:
    os.kill(pid, signal.SIGKILL)
    await postmaster.process_end(pid)


async def test_the_first_start_makes_a_private_server_without_tcp(data_dir: Path) -> None:
    address = await embedded.start(data_dir)

    assert address == embedded.url(data_dir)
    assert embedded.running(data_dir)
    assert setting(data_dir, "listen_addresses") == ""
    assert (setting(data_dir, "fsync"), setting(data_dir, "max_connections")) == ("on", "200")
    assert (data_dir / "postgres" / "run").stat().st_mode & 0o777 == 0o700


async def test_data_outlives_a_stop_and_a_start(data_dir: Path) -> None:
    await embedded.start(data_dir)
    with connect(data_dir) as connection:
        connection.execute("CREATE TABLE kept AS SELECT 7 AS value")

    await embedded.stop(data_dir)
    assert not embedded.running(data_dir)
    await embedded.start(data_dir)

    with connect(data_dir) as connection:
        assert connection.execute("SELECT value FROM kept").fetchone() == (7,)


async def test_a_running_server_is_adopted(data_dir: Path) -> None:
    await embedded.start(data_dir)
    first = server(data_dir)

    await embedded.start(data_dir)

    assert server(data_dir) == first


async def test_the_settings_of_other_servers_in_the_environment_do_not_matter(
    data_dir: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    for name, value in {"PGPORT": "1", "PGDATA": "/nowhere", "PGHOST": "nowhere.invalid", "PGUSER": "nobody"}.items():
        monkeypatch.setenv(name, value)

    await embedded.start(data_dir)

    assert setting(data_dir, "port") == "5432"


async def test_what_was_committed_outlives_a_kill_of_the_server(data_dir: Path) -> None:
    await embedded.start(data_dir)
    busy = connect(data_dir)
    busy.execute("CREATE TABLE kept AS SELECT 7 AS value")

    await kill(server(data_dir))
    assert not embedded.running(data_dir)
    await embedded.start(data_dir)

    busy.close()
    with connect(data_dir) as connection:
        assert connection.execute("SELECT value FROM kept").fetchone() == (7,)


async def test_a_pid_file_whose_number_another_program_has_got_does_not_stop_the_start(data_dir: Path) -> None:
    await embedded.start(data_dir)
    await kill(server(data_dir))
    pid_file = cluster(data_dir) / "postmaster.pid"
    lines = pid_file.read_text().splitlines()
    pid_file.write_text("\n".join([str(os.getpid()), *lines[1:]]) + "\n")

    assert not embedded.running(data_dir)
    await embedded.start(data_dir)

    assert server(data_dir) != os.getpid()


async def test_a_start_that_was_killed_while_it_made_the_folder_is_repeated(data_dir: Path) -> None:
    half_made = data_dir / "postgres" / "new-1"
    half_made.mkdir(parents=True)
    (half_made / "PG_VERSION").write_text("18\n")
    cluster(data_dir).mkdir()

    await embedded.start(data_dir)

    assert embedded.running(data_dir)
    assert not half_made.exists()


async def test_a_folder_that_is_not_a_database_is_refused_and_left_alone(data_dir: Path) -> None:
    cluster(data_dir).mkdir(parents=True)
    (cluster(data_dir) / "letters.txt").write_text("dear diary")

    with pytest.raises(SetupError, match="move it away"):
        await embedded.start(data_dir)

    assert (cluster(data_dir) / "letters.txt").read_text() == "dear diary"


async def test_a_database_of_another_version_is_refused_by_name(data_dir: Path) -> None:
    cluster(data_dir).mkdir(parents=True)
    (cluster(data_dir) / "PG_VERSION").write_text("16\n")

    with pytest.raises(SetupError, match=r"PostgreSQL 16 and this release has 18"):
        await embedded.start(data_dir)


async def test_a_data_folder_that_cannot_be_made_is_named(tmp_path: Path) -> None:
    (tmp_path / "file").write_text("")

    with pytest.raises(SetupError, match=f"{tmp_path}/file"):
        await embedded.start(tmp_path / "file")


async def test_a_server_that_cannot_start_says_why(data_dir: Path) -> None:
    await embedded.start(data_dir)
    await embedded.stop(data_dir)
    (cluster(data_dir) / "global" / "pg_control").unlink()

    with pytest.raises(SetupError, match=r"global/pg_control.*No such file"):
        await embedded.start(data_dir)


async def test_the_end_of_the_server_is_noticed_at_once(data_dir: Path) -> None:
    await embedded.start(data_dir)
    watch = asyncio.create_task(embedded.ended(data_dir))
    await asyncio.sleep(0)

    os.kill(server(data_dir), signal.SIGINT)

    await asyncio.wait_for(watch, 10)
    assert not embedded.running(data_dir)


async def test_stopping_what_does_not_run_is_fine(data_dir: Path) -> None:
    await embedded.stop(data_dir)

    assert not embedded.running(data_dir)


async def test_configuration_that_a_power_cut_took_is_written_again(data_dir: Path) -> None:
    await embedded.start(data_dir)
    for left in (b"", None):
        await kill(server(data_dir))
        for name in ("postgresql.conf", "omoi.conf", "pg_hba.conf"):
            (cluster(data_dir) / name).unlink()
            if left is not None:
                (cluster(data_dir) / name).write_bytes(left)

        await embedded.start(data_dir)

        assert (setting(data_dir, "listen_addresses"), setting(data_dir, "fsync")) == ("", "on")


async def test_a_first_start_that_a_power_cut_left_incomplete_is_done_again(data_dir: Path) -> None:
    await embedded.start(data_dir)
    await embedded.stop(data_dir)
    # As before the database of ours was made in it.
    for folder in (cluster(data_dir) / "base").iterdir():
        if int(folder.name) >= 16384:
            shutil.rmtree(folder)
    (cluster(data_dir) / "PG_VERSION").write_bytes(b"")

    await embedded.start(data_dir)

    assert setting(data_dir, "listen_addresses") == ""
    assert len(list((data_dir / "postgres").glob("incomplete-*"))) == 1


async def test_a_damaged_cluster_with_a_database_of_ours_is_not_replaced(data_dir: Path) -> None:
    folder = cluster(data_dir)
    for name in ("global", "base/1", "base/16384"):
        (folder / name).mkdir(parents=True)
    (folder / "PG_VERSION").write_text(f"{embedded.MAJOR_VERSION}\n")

    with pytest.raises(SetupError, match="embedded database"):
        await embedded.start(data_dir)

    assert (folder / "base/16384").is_dir()
    assert list((data_dir / "postgres").glob("incomplete-*")) == []
