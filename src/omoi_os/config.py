"""Settings: the only reader of the environment. Explicit parameter > environment > YAML > default."""

import os
import re
from collections.abc import Mapping
from pathlib import Path
from typing import Annotated, Any, Literal
from urllib.parse import urlsplit

import yaml
from pydantic import AfterValidator, BaseModel, BeforeValidator, ConfigDict, Field, ValidationError
from pydantic.fields import FieldInfo

from omoi_os.errors import ConfigError
from omoi_os.system.installation import site_of

#: The real model, when a key is set and nothing else is said.
DEFAULT_MODEL = "claude-sonnet-4-5"

_TRUE = ("1", "true", "yes", "on")

#: The longest data folder for which every unix socket below it fits into the kernel's 107 bytes.
MAX_DATA_DIR_BYTES = 60


def _setting(default: Any, *, env: str, yaml: str | tuple[str, ...] = (), **rules: Any) -> Any:
    """A field, the environment variable that sets it, and its places in YAML (`section.key`; its own name if none)."""
    places: list[Any] = [yaml] if isinstance(yaml, str) else list(yaml)
    return Field(default, json_schema_extra={"env": env, "yaml": places}, validate_default=True, **rules)


def _default_data_dir() -> Path:
    if os.geteuid() == 0:
        return Path("/var/lib/omoi")
    return Path(os.environ.get("XDG_DATA_HOME") or Path.home() / ".local" / "share") / "omoi"


def _absolute(path: Path) -> Path:
    """Other processes with other working folders use the same path."""
    return path.expanduser().absolute()


def _postgres(url: str) -> str:
    """An address that the database's driver can be given."""
    if not re.match(r"postgres(ql)?(\+psycopg)?://", url) or not _has_good_port(url):
        raise ValueError("must be the address of a PostgreSQL, like postgresql://user@host:5432/name")
    return url


def _has_good_port(url: str) -> bool:
    try:
        return urlsplit(url).port != 0
    except ValueError:
        return False


def _names(value: object) -> object:
    """A list as YAML has it, or as a variable can hold it."""
    if isinstance(value, str):
        return tuple(name.strip().lower() for name in value.split(",") if name.strip())
    return value


class Settings(BaseModel):
    """Everything that can be configured. `config/base.yaml` shows the same names."""

    model_config = ConfigDict(extra="forbid", frozen=True)

    data_dir: Annotated[Path, AfterValidator(_absolute)] = Field(
        default_factory=_default_data_dir, json_schema_extra={"env": "OMOI_DATA_DIR"}
    )
    """Where the embedded database, repositories and sandboxes live."""
    host: str = _setting("127.0.0.1", env="OMOI_HOST")
    """The address the API listens on."""
    port: int = _setting(18000, env="OMOI_PORT", ge=1, le=65535)
    """The port the API listens on."""
    api_url: str | None = _setting(None, env="OMOI_API_URL")
    """Where the gateway reaches the API; by default the host and port above."""
    allowed_hosts: Annotated[tuple[str, ...], BeforeValidator(_names)] = _setting((), env="OMOI_ALLOWED_HOSTS")
    """Names by which browsers may reach an API that listens on this machine only, besides localhost; `,` between."""
    database_url: Annotated[str, AfterValidator(_postgres)] | None = _setting(None, env="DATABASE_URL", repr=False)
    """An outside PostgreSQL; unset means the embedded one in the data folder."""
    redis_url: str | None = _setting(None, env="REDIS_URL", pattern=r"^(rediss?|unix)://", repr=False)
    """A Redis that carries wake-ups between processes; unset means that PostgreSQL does."""
    stream_retention_hours: float = _setting(
        72, env="OMOI_STREAM_RETENTION_HOURS", yaml="stream.retention_hours", gt=0, le=24 * 3650
    )
    """How long a stream can be resumed from where it was left; events themselves are kept apart from this."""
    stream_connections: int = _setting(64, env="OMOI_STREAM_CONNECTIONS", yaml="stream.connections", ge=1, le=100_000)
    """How many connections to the stream one user may hold at one API process."""
    admin_token: str | None = _setting(None, env="OMOI_ADMIN_TOKEN", min_length=16, repr=False)
    """The first administrator's API key; unset means one is made and kept in the data folder."""
    orchestrator_enabled: bool = _setting(True, env="ORCHESTRATOR_ENABLED")
    """Whether `omoi serve` runs an orchestrator."""

    model: str | None = _setting(None, env="OMOI_MODEL")
    """The model agents use; `scripted` forces the scripted model."""
    scripts_dir: Path | None = _setting(None, env="OMOI_SCRIPTS_DIR")
    """A folder of scripts for the scripted model; it wins over the built-in ones."""
    anthropic_api_key: str | None = _setting(None, env="ANTHROPIC_API_KEY", repr=False)
    """The model's key. It stays in the gateway."""
    anthropic_base_url: str = _setting("https://api.anthropic.com", env="ANTHROPIC_BASE_URL")
    """Where model calls are forwarded to."""
    github_token: str | None = _setting(None, env="GITHUB_TOKEN", repr=False)
    """The forge's token for GitHub projects. It stays in the gateway."""

    sandbox_provider: Literal["local", "docker", "daytona"] = _setting(
        "local", env="SANDBOX_PROVIDER", yaml="sandbox.provider"
    )
    """What makes sandboxes; a project may choose another."""
    sandbox_memory_gb: float = _setting(
        4, env="SANDBOX_MEMORY_GB", yaml=("sandbox.memory_gb", "daytona.sandbox_memory_gb"), gt=0
    )
    """Memory of one sandbox, in GiB."""
    sandbox_cpu: float = _setting(2, env="SANDBOX_CPU", yaml=("sandbox.cpu", "daytona.sandbox_cpu"), gt=0)
    """Processors of one sandbox."""
    sandbox_disk_gb: float = _setting(
        8, env="SANDBOX_DISK_GB", yaml=("sandbox.disk_gb", "daytona.sandbox_disk_gb"), gt=0
    )
    """Disk of one sandbox, home and workspace together, in GiB."""
    sandbox_max_memory_gb: float = _setting(8, env="SANDBOX_MAX_MEMORY_GB", yaml="sandbox.max_memory_gb", gt=0)
    """The most memory that may be asked for."""
    sandbox_max_cpu: float = _setting(4, env="SANDBOX_MAX_CPU", yaml="sandbox.max_cpu", gt=0)
    """The most processors that may be asked for."""
    sandbox_max_disk_gb: float = _setting(10, env="SANDBOX_MAX_DISK_GB", yaml="sandbox.max_disk_gb", gt=0)
    """The most disk that may be asked for."""
    sandbox_pids: int = _setting(512, env="SANDBOX_PIDS", yaml="sandbox.pids", ge=32)
    """Processes and threads of one sandbox."""
    sandbox_lifetime_seconds: int = _setting(
        4 * 3600, env="SANDBOX_LIFETIME_SECONDS", yaml="sandbox.lifetime_seconds", ge=10
    )
    """How long one sandbox may live, enforced by its provider."""
    sandbox_image: str | None = _setting(None, env="SANDBOX_IMAGE", yaml="sandbox.image")
    """The container image of the provider `docker`, and of `daytona` without a snapshot; `make image` makes one."""
    sandbox_snapshot: str | None = _setting(
        "ai-agent-dev-light", env="SANDBOX_SNAPSHOT", yaml=("sandbox.snapshot", "daytona.snapshot")
    )
    """The snapshot that Daytona starts sandboxes from."""
    spool_mb: int = _setting(256, env="OMOI_SPOOL_MB", yaml="sandbox.spool_mb", ge=1, le=100_000)
    """How much may wait in a sandbox's spool to be sent, in MiB; then its agent waits."""
    warm_sandboxes: int = _setting(0, env="OMOI_WARM_SANDBOXES", yaml="sandbox.warm", ge=0, le=100)
    """How many sandboxes are kept ready for the next tasks; each waits with the agent's SDK loaded."""
    prepared_checkouts: bool = _setting(True, env="OMOI_PREPARED_CHECKOUTS", yaml="sandbox.prepared_checkouts")
    """Whether a clone takes its objects from a mirror on this machine where there is one."""
    overlay_checkouts: bool = _setting(True, env="OMOI_OVERLAY_CHECKOUTS", yaml="sandbox.overlay_checkouts")
    """Whether the workspace is laid over a prepared checkout where the provider can and there is a mirror."""
    daytona_api_key: str | None = _setting(None, env="DAYTONA_API_KEY", yaml="daytona.api_key", repr=False)
    """The key of the provider `daytona`."""
    daytona_api_url: str = _setting("https://app.daytona.io/api", env="DAYTONA_API_URL", yaml="daytona.api_url")
    """Where Daytona's API is."""
    daytona_target: str | None = _setting(None, env="DAYTONA_TARGET", yaml="daytona.target")
    """The region in which Daytona makes sandboxes."""
    daytona_user: str | None = _setting(None, env="OMOI_DAYTONA_USER", yaml="daytona.user")
    """The user that everything runs as in Daytona's sandboxes; by default that of the snapshot or image."""
    daytona_python: str | None = _setting(None, env="OMOI_DAYTONA_PYTHON", yaml="daytona.python", pattern="^/")
    """The interpreter with the agent's SDK in Daytona's sandboxes; by default where `make image` puts it."""
    daytona_source: str | None = _setting(None, env="OMOI_DAYTONA_SOURCE", yaml="daytona.source", pattern="^/")
    """The folder of the package `omoi_os` in Daytona's sandboxes; by default where `make image` puts it."""
    daytona_open_network: bool = _setting(False, env="OMOI_DAYTONA_OPEN_NETWORK", yaml="daytona.open_network")
    """Whether Daytona's sandboxes may reach all of the network and not only the gateway."""
    package_index: str | None = _setting(None, env="OMOI_PACKAGE_INDEX", yaml="sandbox.package_index")
    """Where the worker's packages come from if a snapshot or image has them not; by default pip's own index."""
    callback_url: str | None = _setting(None, env="CALLBACK_URL")
    """Where remote sandboxes reach the gateway, as https://…; it leads to the gateway's host and port."""
    gateway_host: str = _setting("127.0.0.1", env="OMOI_GATEWAY_HOST", yaml="gateway.host")
    """The address the gateway listens on for remote sandboxes, if CALLBACK_URL is set."""
    gateway_port: int = _setting(18001, env="OMOI_GATEWAY_PORT", yaml="gateway.port", ge=1, le=65535)
    """The port the gateway listens on for remote sandboxes, if CALLBACK_URL is set."""

    max_concurrent_tasks: int = _setting(10, env="OMOI_MAX_CONCURRENT_TASKS", yaml="tasks.max_concurrent", ge=1)
    """Tasks that run at the same time, over all projects."""
    max_attempts: int = _setting(3, env="OMOI_MAX_ATTEMPTS", yaml="tasks.max_attempts", ge=1, le=20)
    """How often a task is tried."""
    retry_backoff_seconds: float = _setting(
        5, env="OMOI_RETRY_BACKOFF_SECONDS", yaml="tasks.retry_backoff_seconds", ge=0
    )
    """The wait before the second attempt; it doubles with each further one."""
    max_turns: int = _setting(100, env="MAX_TURNS", yaml="tasks.max_turns", ge=1)
    """Turns an agent may take in one attempt."""
    max_budget_usd: float | None = _setting(None, env="MAX_BUDGET_USD", yaml="tasks.max_budget_usd", gt=0)
    """What one task may spend on model calls when neither its ticket nor its project says so."""
    check_timeout_seconds: int = _setting(
        900, env="OMOI_CHECK_TIMEOUT_SECONDS", yaml="tasks.check_timeout_seconds", ge=1
    )
    """How long one acceptance command may run."""
    linger_seconds: int = _setting(600, env="OMOI_LINGER_SECONDS", yaml="tasks.linger_seconds", ge=0, le=86_400)
    """How long the worker of an ad hoc sandbox stays for follow-up messages."""
    retention_days: int | None = _setting(90, env="OMOI_RETENTION_DAYS", yaml="retention_days", ge=1, le=36_500)
    """How long the events, transcripts and messages of ended sandboxes are kept, unless their project says so."""
    min_free_gb: float = _setting(1, env="OMOI_MIN_FREE_GB", yaml="quotas.min_free_gb", ge=0)
    """Free space of the data folder's disk, in GiB, below which no task starts; at most 5 % of the disk."""
    salvage_wait_seconds: float = _setting(
        300, env="OMOI_SALVAGE_WAIT_SECONDS", yaml="salvage.wait_seconds", ge=0, le=86_400
    )
    """How long a task's next attempt waits for uncommitted work of the last one that could not be saved yet."""
    salvage_keep_hours: float = _setting(72, env="OMOI_SALVAGE_KEEP_HOURS", yaml="salvage.keep_hours", ge=0)
    """How long the disk of a sandbox whose work could not be saved is kept."""
    salvage_keep_gb: float = _setting(20, env="OMOI_SALVAGE_KEEP_GB", yaml="salvage.keep_gb", ge=0)
    """How much room such disks may take on one machine, in GiB; beyond that the oldest are given up."""
    sandbox_events_mb: int = _setting(256, env="OMOI_SANDBOX_EVENTS_MB", yaml="quotas.sandbox_events_mb", ge=1)
    """What the events of one sandbox may add up to, in MiB; one that reports more is stopped."""
    sandbox_blobs_mb: int = _setting(512, env="OMOI_SANDBOX_BLOBS_MB", yaml="quotas.sandbox_blobs_mb", ge=1)
    """What the blobs of one sandbox may add up to, in MiB."""
    sandbox_transcript_mb: int = _setting(
        256, env="OMOI_SANDBOX_TRANSCRIPT_MB", yaml="quotas.sandbox_transcript_mb", ge=1
    )
    """What the transcript of one sandbox may add up to, in MiB."""
    sandbox_push_gb: float = _setting(4, env="OMOI_SANDBOX_PUSH_GB", yaml="quotas.sandbox_push_gb", gt=0)
    """What one sandbox may push, in GiB."""
    project_repository_gb: float = _setting(
        20, env="OMOI_PROJECT_REPOSITORY_GB", yaml="quotas.project_repository_gb", gt=0
    )
    """The size of a project's repository, in GiB, beyond which pushes to it are refused."""
    project_storage_gb: float = _setting(20, env="OMOI_PROJECT_STORAGE_GB", yaml="quotas.project_storage_gb", gt=0)
    """What the events, blobs and transcripts of a project may add up to, in GiB, before no task of it starts."""
    storage_gb: float = _setting(200, env="OMOI_STORAGE_GB", yaml="quotas.storage_gb", gt=0)
    """What events, blobs, transcripts and repositories may add up to in all, in GiB, before no task starts."""
    reconcile_seconds: float = _setting(10, env="OMOI_RECONCILE_SECONDS", yaml="orchestrator.reconcile_seconds", gt=0)
    """The slow safety net: rows and sandboxes are compared at least this often."""
    dead_after_seconds: float = _setting(
        75, env="OMOI_DEAD_AFTER_SECONDS", yaml="orchestrator.dead_after_seconds", gt=0
    )
    """A sandbox that is silent for so long is dead, unless its provider says that it lives."""
    idle_after_seconds: float = _setting(
        600, env="OMOI_IDLE_AFTER_SECONDS", yaml="orchestrator.idle_after_seconds", gt=0
    )
    """A sandbox whose work is done and that does nothing for so long is stopped."""
    stuck_after_seconds: float = _setting(
        900, env="OMOI_STUCK_AFTER_SECONDS", yaml="orchestrator.stuck_after_seconds", gt=0
    )
    """A sandbox that says it works and does nothing for so long is stopped, and its task tried again."""
    site_lost_after_seconds: float = _setting(
        300, env="OMOI_SITE_LOST_AFTER_SECONDS", yaml="orchestrator.site_lost_after_seconds", gt=0
    )
    """When no orchestrator has served a data folder for so long, its sandboxes are lost and their tasks retried."""
    stop_sandboxes: bool = _setting(False, env="OMOI_STOP_SANDBOXES", yaml="orchestrator.stop_sandboxes")
    """Whether an orchestrator that is told to stop takes its sandboxes with it; `omoi serve` sets this."""

    @property
    def effective_api_url(self) -> str:
        """Where the gateway and the commands reach the API."""
        host = "127.0.0.1" if self.host in ("0.0.0.0", "::") else self.host  # noqa: S104
        return self.api_url or f"http://{host}:{self.port}"

    @property
    def uses_scripted_model(self) -> bool:
        """True when the scripted model plays the agent's part."""
        return self.model == "scripted" or not self.anthropic_api_key

    @property
    def model_name(self) -> str:
        """The model's name; wherever it is shown, the scripted one says so."""
        return "scripted" if self.uses_scripted_model else self.model or DEFAULT_MODEL

    def model_for(self, wanted: str | None) -> str:
        """The model of one task: the one asked for, unless the scripted one plays every part."""
        return self.model_name if self.uses_scripted_model else wanted or self.model_name

    @property
    def site(self) -> str:
        """The identity of this data folder, wherever it is moved: local sandboxes can be seen from here only."""
        return site_of(self.data_dir)

    @property
    def gateway_sockets_dir(self) -> Path:
        """One folder per sandbox with its gateway socket."""
        # Not renamed: a sandbox of an earlier release that runs across an upgrade has its folder mounted from here.
        return self.data_dir / "doors"

    @property
    def repositories_dir(self) -> Path:
        """The local forge's bare repositories."""
        return self.data_dir / "repos"

    @property
    def sandboxes_dir(self) -> Path:
        """The local provider's sandboxes."""
        return self.data_dir / "sandboxes"


def load_settings(
    *, environ: Mapping[str, str] | None = None, config_dir: Path | None = None, **parameters: Any
) -> Settings:
    """Read all sources and check them; `ConfigError` names the first wrong key and where it came from."""
    environ = os.environ if environ is None else environ
    values: dict[str, Any] = {}
    origin: dict[str, str] = {}
    for path in _yaml_files(environ, config_dir):
        for name, (value, key) in _read_yaml(path).items():
            values[name], origin[name] = value, f"{key} in {path}"
    for name, field in Settings.model_fields.items():
        variable = _extra(field, "env")
        if isinstance(variable, str) and environ.get(variable, "") != "":
            values[name], origin[name] = environ[variable], variable
    if environ.get("DAYTONA_SANDBOX_EXECUTION", "").lower() in _TRUE and not environ.get("SANDBOX_PROVIDER"):
        values["sandbox_provider"], origin["sandbox_provider"] = "daytona", "DAYTONA_SANDBOX_EXECUTION"
    for name, value in parameters.items():
        values[name], origin[name] = value, f"parameter {name}"
    try:
        settings = Settings(**values)
    except ValidationError as error:
        first = error.errors()[0]
        name = str(first["loc"][0])
        known = Settings.model_fields.get(name)
        got = f" (got {first['input']!r})" if known is None or known.repr else ""
        said = first["msg"].removeprefix("Value error, ")
        raise ConfigError(f"{origin.get(name, name)}: {said}{got}") from None
    _check_limits(settings, origin)
    return settings


def _check_limits(settings: Settings, origin: Mapping[str, str]) -> None:
    if len(os.fsencode(settings.data_dir)) > MAX_DATA_DIR_BYTES:
        where = origin.get("data_dir", "OMOI_DATA_DIR")
        raise ConfigError(
            f"{where}: {settings.data_dir} is longer than {MAX_DATA_DIR_BYTES} bytes; choose a shorter path"
        )
    for name in ("memory_gb", "cpu", "disk_gb"):
        asked, most = getattr(settings, f"sandbox_{name}"), getattr(settings, f"sandbox_max_{name}")
        if asked > most:
            where = origin.get(f"sandbox_{name}", f"SANDBOX_{name.upper()}")
            raise ConfigError(
                f"{where}: {asked:g} is more than {most:g}; ask for less, or raise SANDBOX_MAX_{name.upper()}"
            )


def _yaml_files(environ: Mapping[str, str], config_dir: Path | None) -> list[Path]:
    folder = config_dir or Path(environ.get("OMOI_CONFIG_DIR", "config"))
    chosen = environ.get("OMOI_ENV")
    if not chosen:
        return [folder / "base.yaml"]
    path = folder / f"{chosen}.yaml"
    if not path.is_file():
        raise ConfigError(f"OMOI_ENV: {chosen!r} selects {path}, which does not exist; make it, or unset OMOI_ENV")
    return [folder / "base.yaml", path]


def _extra(field: FieldInfo, key: str) -> Any:
    extra = field.json_schema_extra
    return extra.get(key) if isinstance(extra, dict) else None


def _read_yaml(path: Path) -> dict[str, tuple[Any, str]]:
    """The settings of one file by field name, each with its key as written."""
    if not path.is_file():
        return {}
    try:
        document = yaml.safe_load(path.read_text()) or {}
    except yaml.YAMLError as error:
        raise ConfigError(f"{path}: not valid YAML: {' '.join(str(error).split())}") from None
    if not isinstance(document, dict):
        raise ConfigError(f"{path}: must be a mapping of settings")
    known = {key: name for name, field in Settings.model_fields.items() for key in _extra(field, "yaml") or [name]}
    sections = {key.split(".")[0] for key in known if "." in key}
    found: dict[str, tuple[Any, str]] = {}
    for key, value in document.items():
        flat = (
            {f"{key}.{inner}": item for inner, item in value.items()}
            if isinstance(value, dict) and key in sections
            else {key: value}
        )
        for flat_key, item in flat.items():
            if flat_key not in known:
                raise ConfigError(f"{path}: unknown setting {flat_key!r}; known are {', '.join(sorted(known))}")
            found[known[flat_key]] = (item, flat_key)
    return found
