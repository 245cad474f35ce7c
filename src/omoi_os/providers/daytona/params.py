"""What is asked of Daytona for one sandbox."""

import ipaddress
import math
import time
from dataclasses import dataclass, field
from datetime import timedelta
from urllib.parse import urlsplit

from daytona import CreateSandboxFromImageParams, CreateSandboxFromSnapshotParams
from daytona import Resources as DaytonaResources

from omoi_os.errors import ProviderError
from omoi_os.providers.base import Resources, SandboxSpec
from omoi_os.providers.daytona.callback import is_loopback

API_URL = "https://app.daytona.io/api"
SNAPSHOT = "ai-agent-dev-light"

LABEL_OWNER = "omoi.owner"
LABEL_ID = "omoi.sandbox"
#: Names one call of `create`, so that after a lost answer only its own sandbox is taken for it.
LABEL_CREATION = "omoi.creation"
#: When its lifetime is over, in seconds since 1970.
LABEL_ENDS = "omoi.ends"

#: How much longer than its lifetime a forgotten sandbox stays, and how long once stopped, for its work to be saved.
MARGIN = timedelta(minutes=60)

GIBIBYTE = 1024**3

Params = CreateSandboxFromSnapshotParams | CreateSandboxFromImageParams


@dataclass(frozen=True, slots=True)
class Account:
    """Whose sandboxes they are, and where."""

    api_key: str = field(repr=False)
    api_url: str = API_URL
    #: The region; None leaves it to Daytona.
    target: str | None = None


@dataclass(frozen=True, slots=True)
class Source:
    """What sandboxes are made from: a snapshot, else an image, else Daytona's own default."""

    snapshot: str | None = SNAPSHOT
    image: str | None = None
    #: The user inside; None leaves it to the snapshot or image.
    user: str | None = None
    #: The only address that sandboxes may reach; None leaves the network open.
    gateway: str | None = None
    #: Where our program's packages come from if they are not inside; None for pip's own default, which is in reach
    #: only of sandboxes that have neither a snapshot nor an image.
    package_index: str | None = None

    @property
    def is_built(self) -> bool:
        """Whether Daytona must make it from an image first."""
        return bool(self.image) and not self.snapshot


def create_params(spec: SandboxSpec, source: Source, *, creation: str) -> Params:
    """Everything that Daytona is told about the sandbox. What runs in it is told to the holder."""
    check(spec)
    common = {
        "name": spec.id,
        "labels": _labels(spec, creation),
        "os_user": source.user,
        "public": False,
        # Daytona counts from the last call, not from the last work: its 15 minutes would stop a busy agent.
        "auto_stop_interval": _minutes(spec.lifetime + MARGIN),
        "auto_delete_interval": _minutes(MARGIN),
        **_network(source),
    }
    if "ttl_minutes" in CreateSandboxFromSnapshotParams.model_fields:
        common["ttl_minutes"] = _minutes(spec.lifetime + 2 * MARGIN)
    if source.image and not source.snapshot:
        return CreateSandboxFromImageParams(image=source.image, resources=resources(spec.resources), **common)
    return CreateSandboxFromSnapshotParams(snapshot=source.snapshot, **common)


def resources(asked: Resources) -> DaytonaResources:
    """The limits in Daytona's whole units, never less than asked."""
    return DaytonaResources(
        cpu=max(math.ceil(asked.cpus), 1),
        memory=max(math.ceil(asked.memory_bytes / GIBIBYTE), 1),
        disk=max(math.ceil(asked.disk_bytes / GIBIBYTE), 1),
    )


def check(spec: SandboxSpec) -> None:
    """Refuse what could not work, before anything is made."""
    if not spec.argv:
        raise ProviderError(f"Sandbox {spec.id} has no command to run.")
    if any("\0" in text for text in (*spec.argv, *spec.env, *spec.env.values())) or any("=" in key for key in spec.env):
        raise ProviderError(f"The command or environment of sandbox {spec.id} contains a zero byte or a bad name.")


def _labels(spec: SandboxSpec, creation: str) -> dict[str, str]:
    ends = str(int(time.time() + spec.lifetime.total_seconds()))
    own = {LABEL_OWNER: spec.owner, LABEL_ID: spec.id, LABEL_CREATION: creation, LABEL_ENDS: ends}
    return {**spec.labels, **own}


def _minutes(span: timedelta) -> int:
    return math.ceil(span.total_seconds() / 60)


def _network(source: Source) -> dict[str, str]:
    """The firewall's setting: the gateway is the only way out, and the package index where it is needed."""
    if source.gateway is None or is_loopback(source.gateway):
        return {}
    hosts = [urlsplit(url).hostname for url in (source.gateway, source.package_index or "")]
    if not source.snapshot and not source.image and not source.package_index:
        hosts += ["pypi.org", "files.pythonhosted.org"]
    names, ranges = [], []
    for host in filter(None, hosts):
        try:
            address = ipaddress.ip_address(host)
            ranges.append(f"{address}/{address.max_prefixlen}")
        except ValueError:
            names.append(host)
    lists = {"domain_allow_list": ",".join(names), "network_allow_list": ",".join(ranges)}
    return {name: value for name, value in lists.items() if value}
