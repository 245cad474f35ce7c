"""Settings: the only code that reads the environment. Explicit parameter > environment > YAML > default."""

import difflib
import os
import re
from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import Annotated, Any
from urllib.parse import urlsplit

import yaml
from pydantic import AfterValidator, BaseModel, BeforeValidator, ConfigDict, Field, ValidationError
from pydantic.fields import FieldInfo

from omoi_os.errors import ConfigError
from omoi_os.providers.registry import ProviderName
from omoi_os.system.installation import site_of

#: The model that agents use when ANTHROPIC_API_KEY is set and OMOI_MODEL is not.
DEFAULT_MODEL = "claude-sonnet-4-5"

_TRUE = ("1", "true", "yes", "on")

#: The shortest key that may encrypt credentials.
MIN_KEY_CHARACTERS = 16

#: The longest data folder path for which every unix socket below it fits into the kernel's limit of 107 bytes.
MAX_DATA_DIR_BYTES = 60


def _setting(default: Any, *, env: str, yaml: str | tuple[str, ...] = (), **rules: Any) -> Any:
    """Define a field, its environment variable and its keys in YAML (`section.key`; by default the field's name)."""
    places: list[Any] = [yaml] if isinstance(yaml, str) else list(yaml)
    return Field(default, json_schema_extra={"env": env, "yaml": places}, validate_default=True, **rules)


def _default_data_dir() -> Path:
    if os.geteuid() == 0:
        return Path("/var/lib/omoi")
    return Path(os.environ.get("XDG_DATA_HOME") or Path.home() / ".local" / "share") / "omoi"


def _absolute(path: Path) -> Path:
    """Make a path absolute: other processes, with other working folders, use it too."""
    return path.expanduser().absolute()


def _postgres(url: str) -> str:
    """Raise `ValueError` unless the database driver accepts this URL."""
    if not re.match(r"postgres(ql)?(\+psycopg)?://", url) or not _has_good_port(url):
        raise ValueError("must be a PostgreSQL URL, such as postgresql://user@host:5432/name")
    return url


def _has_good_port(url: str) -> bool:
    try:
        return urlsplit(url).port != 0
    except ValueError:
        return False


def _public(url: str) -> str:
    """Return an address for people without a slash at its end. Raise `ValueError` unless a browser can open it."""
    parts = urlsplit(url)
    is_plain = not (parts.query or parts.fragment or "@" in parts.netloc)
    if parts.scheme not in ("http", "https") or not parts.hostname or not is_plain or not _has_good_port(url):
        raise ValueError("must be a URL with http or https, such as https://omoi.example.com")
    return url.rstrip("/")


def _names(value: object) -> object:
    """Split the comma-separated value of an environment variable; leave a YAML list as it is."""
    if isinstance(value, str):
        return tuple(name.strip().lower() for name in value.split(",") if name.strip())
    return value


def _secret_keys(value: object) -> object:
    """Split comma-separated keys; raise `ValueError` for one that is too short. Leave anything else as it is."""
    keys = tuple(key.strip() for key in value.split(",") if key.strip()) if isinstance(value, str) else value
    if isinstance(keys, list | tuple) and any(isinstance(key, str) and len(key) < MIN_KEY_CHARACTERS for key in keys):
        raise ValueError(f"each key must have at least {MIN_KEY_CHARACTERS} characters")
    return keys


class ModelPrice(BaseModel):
    """Price of a family of models, in US dollars per million tokens."""

    model_config = ConfigDict(extra="forbid", frozen=True)

    input_usd: float = Field(ge=0, allow_inf_nan=False)
    output_usd: float = Field(ge=0, allow_inf_nan=False)
    cache_write_usd: float | None = Field(None, ge=0, allow_inf_nan=False)
    """By default 1.25 times the price of input."""
    cache_read_usd: float | None = Field(None, ge=0, allow_inf_nan=False)
    """By default a tenth of the price of input."""


def _read_prices(value: object) -> object:
    """Read the file that OMOI_PRICES names; leave a YAML mapping as it is."""
    if not isinstance(value, str):
        return value if value is not None else {}
    try:
        document = yaml.safe_load(Path(value).expanduser().read_text(encoding="utf-8"))
    except (OSError, UnicodeDecodeError) as error:
        raise ValueError(f"the file cannot be read: {getattr(error, 'strerror', None) or error}") from None
    except yaml.YAMLError as error:
        raise ValueError(f"the file is not valid YAML: {' '.join(str(error).split())}") from None
    return {} if document is None else document


class Settings(BaseModel):
    """All settings. `config/base.yaml` lists them with their defaults."""

    model_config = ConfigDict(extra="forbid", frozen=True)

    data_dir: Annotated[Path, AfterValidator(_absolute)] = Field(
        default_factory=_default_data_dir, json_schema_extra={"env": "OMOI_DATA_DIR"}
    )
    """Folder of the embedded database, the repositories and the sandboxes."""
    host: str = _setting("127.0.0.1", env="OMOI_HOST")
    """Address that the API listens on."""
    port: int = _setting(18000, env="OMOI_PORT", ge=1, le=65535)
    """Port that the API listens on."""
    api_url: str | None = _setting(None, env="OMOI_API_URL")
    """URL at which the gateway and the commands reach the API; by default the host and port above."""
    public_url: Annotated[str, AfterValidator(_public)] | None = _setting(None, env="OMOI_PUBLIC_URL")
    """URL at which people reach the API, for links and clone URLs; by default the host and port above."""
    allowed_hosts: Annotated[tuple[str, ...], BeforeValidator(_names)] = _setting((), env="OMOI_ALLOWED_HOSTS")
    """Host names, besides localhost, under which browsers may reach an API that listens on a loopback address."""
    database_url: Annotated[str, AfterValidator(_postgres)] | None = _setting(None, env="DATABASE_URL", repr=False)
    """URL of an external PostgreSQL; by default an embedded server runs in the data folder."""
    redis_url: str | None = _setting(None, env="REDIS_URL", pattern=r"^(rediss?|unix)://", repr=False)
    """URL of a Redis that carries wake-ups between processes; by default PostgreSQL carries them."""
    stream_retention_hours: float = _setting(
        72, env="OMOI_STREAM_RETENTION_HOURS", yaml="stream.retention_hours", gt=0, le=24 * 3650
    )
    """Hours for which a client can resume a stream at its last position. Does not affect how long events are kept."""
    stream_connections: int = _setting(64, env="OMOI_STREAM_CONNECTIONS", yaml="stream.connections", ge=1, le=100_000)
    """Maximum number of stream connections of one user to one API process."""
    admin_token: str | None = _setting(None, env="OMOI_ADMIN_TOKEN", min_length=16, repr=False)
    """API key of the first administrator; by default one is generated and kept in the data folder."""
    secret_keys: Annotated[tuple[str, ...], BeforeValidator(_secret_keys)] = _setting(
        (), env="OMOI_SECRET_KEY", yaml="secret_key", repr=False
    )
    """Keys that encrypt credentials, comma-separated: the first encrypts, all decrypt. By default one is generated."""
    egress_private: Annotated[tuple[str, ...], BeforeValidator(_names)] = _setting((), env="OMOI_EGRESS_PRIVATE")
    """Host names and addresses inside private networks that URLs given by people may lead to."""
    orchestrator_enabled: bool = _setting(True, env="ORCHESTRATOR_ENABLED")
    """Whether `omoi serve` runs an orchestrator."""

    model: str | None = _setting(None, env="OMOI_MODEL")
    """Model that agents use; `scripted` selects the scripted model."""
    scripts_dir: Annotated[Path, AfterValidator(_absolute)] | None = _setting(None, env="OMOI_SCRIPTS_DIR")
    """Folder of scripts for the scripted model. They take precedence over the built-in scripts."""
    anthropic_api_key: str | None = _setting(None, env="ANTHROPIC_API_KEY", repr=False)
    """API key for the model. Only the gateway uses it."""
    anthropic_base_url: str = _setting("https://api.anthropic.com", env="ANTHROPIC_BASE_URL")
    """URL that model calls are sent to."""
    prices: Annotated[Mapping[str, ModelPrice], BeforeValidator(_read_prices)] = _setting({}, env="OMOI_PRICES")
    """Model prices that replace the shipped list prices: a YAML file in OMOI_PRICES, or a mapping in `config/`."""
    github_token: str | None = _setting(None, env="GITHUB_TOKEN", repr=False)
    """The first administrator's own GitHub credential."""
    github_api_url: str = _setting("https://api.github.com", env="GITHUB_API_URL", pattern=r"^https?://[^\s?#]+$")
    """URL of GitHub's REST API; another one for GitHub Enterprise."""
    github_url: str = _setting("https://github.com", env="GITHUB_URL", pattern=r"^https?://[^\s?#]+$")
    """URL of GitHub's pages and repositories."""

    sandbox_provider: ProviderName = _setting(ProviderName.LOCAL, env="SANDBOX_PROVIDER", yaml="sandbox.provider")
    """Default provider of sandboxes; a project can select another."""
    sandbox_memory_gb: float = _setting(
        4, env="SANDBOX_MEMORY_GB", yaml=("sandbox.memory_gb", "daytona.sandbox_memory_gb"), gt=0
    )
    """Memory of a sandbox, in GiB."""
    sandbox_cpu: float = _setting(2, env="SANDBOX_CPU", yaml=("sandbox.cpu", "daytona.sandbox_cpu"), gt=0)
    """CPUs of a sandbox."""
    sandbox_disk_gb: float = _setting(
        8, env="SANDBOX_DISK_GB", yaml=("sandbox.disk_gb", "daytona.sandbox_disk_gb"), gt=0
    )
    """Disk of a sandbox, home and workspace together, in GiB."""
    sandbox_max_memory_gb: float = _setting(8, env="SANDBOX_MAX_MEMORY_GB", yaml="sandbox.max_memory_gb", gt=0)
    """Upper limit for the memory of a sandbox, in GiB."""
    sandbox_max_cpu: float = _setting(4, env="SANDBOX_MAX_CPU", yaml="sandbox.max_cpu", gt=0)
    """Upper limit for the CPUs of a sandbox."""
    sandbox_max_disk_gb: float = _setting(10, env="SANDBOX_MAX_DISK_GB", yaml="sandbox.max_disk_gb", gt=0)
    """Upper limit for the disk of a sandbox, in GiB."""
    sandbox_pids: int = _setting(512, env="SANDBOX_PIDS", yaml="sandbox.pids", ge=32)
    """Maximum number of processes and threads in a sandbox."""
    sandbox_lifetime_seconds: int = _setting(
        4 * 3600, env="SANDBOX_LIFETIME_SECONDS", yaml="sandbox.lifetime_seconds", ge=10
    )
    """Maximum lifetime of a sandbox, enforced by its provider."""
    sandbox_image: str | None = _setting(None, env="SANDBOX_IMAGE", yaml="sandbox.image")
    """Container image for `docker`, and for `daytona` without a snapshot; `make image` builds one."""
    sandbox_snapshot: str | None = _setting(
        "ai-agent-dev-light", env="SANDBOX_SNAPSHOT", yaml=("sandbox.snapshot", "daytona.snapshot")
    )
    """Snapshot from which Daytona starts sandboxes."""
    spool_mb: int = _setting(256, env="OMOI_SPOOL_MB", yaml="sandbox.spool_mb", ge=1, le=100_000)
    """Maximum size of unsent events in a sandbox's spool, in MiB; when it is reached, the agent waits."""
    warm_sandboxes: int = _setting(0, env="OMOI_WARM_SANDBOXES", yaml="sandbox.warm", ge=0, le=100)
    """Number of sandboxes kept ready for the next tasks, each with the agent SDK loaded."""
    prepared_checkouts: bool = _setting(True, env="OMOI_PREPARED_CHECKOUTS", yaml="sandbox.prepared_checkouts")
    """Whether clones take their objects from a mirror on this machine, if there is one."""
    overlay_checkouts: bool = _setting(True, env="OMOI_OVERLAY_CHECKOUTS", yaml="sandbox.overlay_checkouts")
    """Whether workspaces are overlays on a prepared checkout, if the provider supports it and a mirror exists."""
    daytona_api_key: str | None = _setting(None, env="DAYTONA_API_KEY", yaml="daytona.api_key", repr=False)
    """API key for Daytona."""
    daytona_api_url: str = _setting("https://app.daytona.io/api", env="DAYTONA_API_URL", yaml="daytona.api_url")
    """URL of Daytona's API."""
    daytona_target: str | None = _setting(None, env="DAYTONA_TARGET", yaml="daytona.target")
    """Region in which Daytona creates sandboxes."""
    daytona_user: str | None = _setting(None, env="OMOI_DAYTONA_USER", yaml="daytona.user")
    """User that runs everything in Daytona's sandboxes; by default the user of the snapshot or image."""
    daytona_python: str | None = _setting(None, env="OMOI_DAYTONA_PYTHON", yaml="daytona.python", pattern="^/")
    """Python with the agent SDK in Daytona's sandboxes; by default where `make image` installs it."""
    daytona_source: str | None = _setting(None, env="OMOI_DAYTONA_SOURCE", yaml="daytona.source", pattern="^/")
    """Folder of the package `omoi_os` in Daytona's sandboxes; by default where `make image` installs it."""
    daytona_open_network: bool = _setting(False, env="OMOI_DAYTONA_OPEN_NETWORK", yaml="daytona.open_network")
    """Whether Daytona's sandboxes may reach the whole network instead of the gateway only."""
    package_index: str | None = _setting(None, env="OMOI_PACKAGE_INDEX", yaml="sandbox.package_index")
    """Package index for the worker's packages if the snapshot or image does not include them; by default pip's own."""
    callback_url: str | None = _setting(None, env="CALLBACK_URL")
    """URL (https://…) at which remote sandboxes reach the gateway's host and port."""
    gateway_host: str = _setting("127.0.0.1", env="OMOI_GATEWAY_HOST", yaml="gateway.host")
    """Address that the gateway listens on for remote sandboxes, if CALLBACK_URL is set."""
    gateway_port: int = _setting(18001, env="OMOI_GATEWAY_PORT", yaml="gateway.port", ge=1, le=65535)
    """Port that the gateway listens on for remote sandboxes, if CALLBACK_URL is set."""

    max_concurrent_tasks: int = _setting(10, env="OMOI_MAX_CONCURRENT_TASKS", yaml="tasks.max_concurrent", ge=1)
    """Maximum number of tasks that run at the same time, over all projects."""
    max_attempts: int = _setting(3, env="OMOI_MAX_ATTEMPTS", yaml="tasks.max_attempts", ge=1, le=20)
    """Maximum number of attempts at a task."""
    retry_backoff_seconds: float = _setting(
        5, env="OMOI_RETRY_BACKOFF_SECONDS", yaml="tasks.retry_backoff_seconds", ge=0
    )
    """Delay before the second attempt; it doubles with each further attempt."""
    max_turns: int = _setting(100, env="MAX_TURNS", yaml="tasks.max_turns", ge=1)
    """Maximum number of agent turns in one attempt."""
    max_budget_usd: float | None = _setting(None, env="MAX_BUDGET_USD", yaml="tasks.max_budget_usd", gt=0)
    """Budget for the model calls of one task. A smaller budget of its ticket or project applies instead."""
    check_timeout_seconds: int = _setting(
        900, env="OMOI_CHECK_TIMEOUT_SECONDS", yaml="tasks.check_timeout_seconds", ge=1
    )
    """Timeout of one acceptance command."""
    linger_seconds: int = _setting(600, env="OMOI_LINGER_SECONDS", yaml="tasks.linger_seconds", ge=0, le=86_400)
    """How long an ad hoc sandbox waits for follow-up messages after its work is done."""
    retention_days: int | None = _setting(90, env="OMOI_RETENTION_DAYS", yaml="retention_days", ge=1, le=36_500)
    """Days for which the events, transcripts and messages of ended sandboxes are kept, unless the project sets it."""
    min_free_gb: float = _setting(1, env="OMOI_MIN_FREE_GB", yaml="quotas.min_free_gb", ge=0)
    """Free disk space, in GiB, below which no task starts; at most 5 % of the data folder's disk."""
    salvage_wait_seconds: float = _setting(
        300, env="OMOI_SALVAGE_WAIT_SECONDS", yaml="salvage.wait_seconds", ge=0, le=86_400
    )
    """How long the next attempt at a task waits for salvage of the last attempt's uncommitted work."""
    salvage_keep_hours: float = _setting(72, env="OMOI_SALVAGE_KEEP_HOURS", yaml="salvage.keep_hours", ge=0)
    """Hours for which the disk of a sandbox is kept when its work could not be salvaged."""
    salvage_keep_gb: float = _setting(20, env="OMOI_SALVAGE_KEEP_GB", yaml="salvage.keep_gb", ge=0)
    """Maximum total size of such disks on one machine, in GiB; beyond it the oldest are deleted."""
    sandbox_events_mb: int = _setting(256, env="OMOI_SANDBOX_EVENTS_MB", yaml="quotas.sandbox_events_mb", ge=1)
    """Maximum total size of the events of one sandbox, in MiB; a sandbox that exceeds it is stopped."""
    sandbox_blobs_mb: int = _setting(512, env="OMOI_SANDBOX_BLOBS_MB", yaml="quotas.sandbox_blobs_mb", ge=1)
    """Maximum total size of the blobs of one sandbox, in MiB."""
    sandbox_transcript_mb: int = _setting(
        256, env="OMOI_SANDBOX_TRANSCRIPT_MB", yaml="quotas.sandbox_transcript_mb", ge=1
    )
    """Maximum size of the transcript of one sandbox, in MiB."""
    sandbox_push_gb: float = _setting(4, env="OMOI_SANDBOX_PUSH_GB", yaml="quotas.sandbox_push_gb", gt=0)
    """Maximum total size of the pushes of one sandbox, in GiB."""
    project_repository_gb: float = _setting(
        20, env="OMOI_PROJECT_REPOSITORY_GB", yaml="quotas.project_repository_gb", gt=0
    )
    """Maximum size of a project's repository, in GiB; beyond it pushes are refused."""
    project_storage_gb: float = _setting(20, env="OMOI_PROJECT_STORAGE_GB", yaml="quotas.project_storage_gb", gt=0)
    """Maximum size of a project's events, blobs and transcripts, in GiB; beyond it none of its tasks starts."""
    storage_gb: float = _setting(200, env="OMOI_STORAGE_GB", yaml="quotas.storage_gb", gt=0)
    """Maximum size of all events, blobs, transcripts and repositories, in GiB; beyond it no task starts."""
    reconcile_seconds: float = _setting(10, env="OMOI_RECONCILE_SECONDS", yaml="orchestrator.reconcile_seconds", gt=0)
    """Maximum interval between two comparisons of the database with the provider's sandboxes."""
    dead_after_seconds: float = _setting(
        75, env="OMOI_DEAD_AFTER_SECONDS", yaml="orchestrator.dead_after_seconds", gt=0
    )
    """Time without a heartbeat after which a sandbox counts as dead, unless its provider reports it alive."""
    idle_after_seconds: float = _setting(
        600, env="OMOI_IDLE_AFTER_SECONDS", yaml="orchestrator.idle_after_seconds", gt=0
    )
    """Time without activity after which a sandbox whose work is done is stopped."""
    stuck_after_seconds: float = _setting(
        900, env="OMOI_STUCK_AFTER_SECONDS", yaml="orchestrator.stuck_after_seconds", gt=0
    )
    """Time without activity after which a running sandbox is stopped and its task retried."""
    site_lost_after_seconds: float = _setting(
        300, env="OMOI_SITE_LOST_AFTER_SECONDS", yaml="orchestrator.site_lost_after_seconds", gt=0
    )
    """Time without an orchestrator after which the sandboxes of a data folder are lost and their tasks retried."""
    stop_sandboxes: bool = _setting(False, env="OMOI_STOP_SANDBOXES", yaml="orchestrator.stop_sandboxes")
    """Whether a stopping orchestrator also stops its sandboxes; `omoi serve` sets this."""

    @property
    def effective_api_url(self) -> str:
        """Return the URL at which the gateway and the commands reach the API."""
        host = "127.0.0.1" if self.host in ("0.0.0.0", "::") else self.host  # noqa: S104
        return self.api_url or f"http://{host}:{self.port}"

    @property
    def effective_public_url(self) -> str:
        """Return the URL at which people reach the API."""
        host = "127.0.0.1" if self.host in ("0.0.0.0", "::") else self.host  # noqa: S104
        return self.public_url or f"http://{f'[{host}]' if ':' in host else host}:{self.port}"

    @property
    def secrets(self) -> tuple[str, ...]:
        """Return the secret values that must be masked wherever they are stored or shown."""
        secrets = (self.anthropic_api_key, self.github_token, self.admin_token, self.daytona_api_key)
        return tuple(secret for secret in (*secrets, *self.secret_keys) if secret)

    @property
    def uses_scripted_model(self) -> bool:
        """Return whether agents use the scripted model when no stored credential applies."""
        return self.model == "scripted" or not self.anthropic_api_key

    @property
    def model_name(self) -> str:
        """Return the name of the model when no stored credential applies; the scripted model's is `scripted`."""
        return "scripted" if self.uses_scripted_model else self.model or DEFAULT_MODEL

    @property
    def site(self) -> str:
        """Return the identity of this data folder, which stays the same when the folder is moved."""
        return site_of(self.data_dir)

    @property
    def gateway_sockets_dir(self) -> Path:
        """Return the folder of the gateway sockets: one folder per sandbox."""
        # Not renamed: a sandbox of an earlier release that runs across an upgrade has its folder mounted from here.
        return self.data_dir / "doors"

    @property
    def repositories_dir(self) -> Path:
        """Return the folder of the local forge's bare repositories."""
        return self.data_dir / "repos"

    @property
    def git_hooks_dir(self) -> Path:
        """Return the folder of the hook with which git asks before it moves a ref."""
        return self.data_dir / "git-hooks"

    @property
    def sandboxes_dir(self) -> Path:
        """Return the folder of the local provider's sandboxes."""
        return self.data_dir / "sandboxes"


def load_settings(
    *, environ: Mapping[str, str] | None = None, config_dir: Path | None = None, **parameters: Any
) -> Settings:
    """Read and check the settings from all sources. Raise `ConfigError` naming the first bad value and its source."""
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
        values["sandbox_provider"], origin["sandbox_provider"] = ProviderName.DAYTONA, "DAYTONA_SANDBOX_EXECUTION"
    for name, value in parameters.items():
        values[name], origin[name] = value, f"parameter {name}"
    try:
        settings = Settings(**values)
    except ValidationError as error:
        raise _explain(error, origin) from None
    _check_limits(settings, origin)
    return settings


#: Sentences for the errors of the validation library; `{name}` is a limit that was violated.
_SENTENCES = {
    "int_parsing": "must be a whole number",
    "int_type": "must be a whole number",
    "int_from_float": "must be a whole number",
    "float_parsing": "must be a number",
    "float_type": "must be a number",
    "finite_number": "must be a number",
    "bool_parsing": "must be true or false",
    "bool_type": "must be true or false",
    "string_type": "must be a string",
    "path_type": "must be a path",
    "greater_than": "must be greater than {gt:g}",
    "greater_than_equal": "must be at least {ge:g}",
    "less_than_equal": "must be at most {le:g}",
    "string_too_short": "must have at least {min_length} characters",
    "string_pattern_mismatch": "must match {pattern}",
    "literal_error": "must be {expected}",
    "enum": "must be {expected}",
    "missing": "is missing",
    "extra_forbidden": "is not a known setting",
    "mapping_type": "must be a mapping",
    "dict_type": "must be a mapping",
    "model_type": "must be a mapping",
}


def _explain(error: ValidationError, origin: Mapping[str, str]) -> ConfigError:
    """Name the first bad value, its source and what it must be. The value of a secret is not shown."""
    first = error.errors(include_url=False)[0]
    name, *inner = map(str, first["loc"])
    known = Settings.model_fields.get(name)
    shows_value = (known is None or known.repr) and first["type"] != "missing"
    got = f" (got {first['input']!r})" if shows_value else ""
    sentence = _SENTENCES.get(first["type"], first["msg"].removeprefix("Value error, "))
    said = sentence.format(**first["ctx"]) if first["type"] in _SENTENCES and "ctx" in first else sentence
    key = f"{'.'.join(inner)} " if inner else ""
    return ConfigError(f"{origin.get(name, name)}: {key}{said}{got}")


def _check_limits(settings: Settings, origin: Mapping[str, str]) -> None:
    if len(os.fsencode(settings.data_dir)) > MAX_DATA_DIR_BYTES:
        where = origin.get("data_dir", "OMOI_DATA_DIR")
        raise ConfigError(
            f"{where}: {settings.data_dir} is longer than {MAX_DATA_DIR_BYTES} bytes; choose a shorter path"
        )
    if settings.scripts_dir is not None and not settings.scripts_dir.is_dir():
        where = origin.get("scripts_dir", "OMOI_SCRIPTS_DIR")
        raise ConfigError(f"{where}: {settings.scripts_dir} is not a folder; create it or unset OMOI_SCRIPTS_DIR")
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
        raise ConfigError(f"OMOI_ENV: {chosen!r} selects {path}, which does not exist; create it or unset OMOI_ENV")
    return [folder / "base.yaml", path]


def _suggestion(key: str, known: Iterable[str]) -> str:
    similar = difflib.get_close_matches(key, known, n=1)
    return f"; did you mean {similar[0]!r}?" if similar else "; config/base.yaml lists all settings"


def _extra(field: FieldInfo, key: str) -> Any:
    extra = field.json_schema_extra
    return extra.get(key) if isinstance(extra, dict) else None


def _read_yaml(path: Path) -> dict[str, tuple[Any, str]]:
    """Return the settings in one file by field name, each with its key as written."""
    if not path.is_file():
        return {}
    try:
        document = yaml.safe_load(path.read_text()) or {}
    except yaml.YAMLError as error:
        raise ConfigError(f"{path}: invalid YAML: {' '.join(str(error).split())}") from None
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
                raise ConfigError(f"{path}: unknown setting {flat_key!r}{_suggestion(flat_key, known)}")
            found[known[flat_key]] = (item, flat_key)
    return found
