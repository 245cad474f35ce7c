"""The parameters with which Daytona creates a sandbox."""

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
#: Identifies one call of `create`, so that after a lost answer only its own sandbox is adopted.
LABEL_CREATION = "omoi.creation"
#: When its lifetime is over, in seconds since 1970.
LABEL_ENDS = "omoi.ends"

#: How long an orphaned sandbox stays after its lifetime, and a stopped one for its work to be salvaged.
MARGIN = timedelta(minutes=60)

GIBIBYTE = 1024**3

Params = CreateSandboxFromSnapshotParams | CreateSandboxFromImageParams


@dataclass(frozen=True, slots=True)
class Account:
    """The account that owns the sandboxes, and where they are."""

    api_key: str = field(repr=False)
    api_url: str = API_URL
    #: The region; None for Daytona's default.
    target: str | None = None


@dataclass(frozen=True, slots=True)
class Source:
    """What sandboxes are created from: a snapshot, else an image, else Daytona's default."""

    snapshot: str | None = SNAPSHOT
    image: str | None = None
    #: The user inside; None for that of the snapshot or image.
    user: str | None = None
    #: The only address that sandboxes can reach; None for the whole network.
    gateway: str | None = None
    #: Where the worker's packages come from if the sandbox does not have them; None for pip's default, which only
    #: sandboxes without a snapshot or image can reach.
    package_index: str | None = None

    @property
    def is_built(self) -> bool:
        """Whether Daytona has to build it from an image first."""
        return bool(self.image) and not self.snapshot


def create_params(spec: SandboxSpec, source: Source, *, creation: str) -> Params:
    """Return everything that Daytona needs. What runs in the sandbox is sent to the guest."""
    check(spec)
    common = {
        "name": spec.id,
        "labels": _labels(spec, creation),
        "os_user": source.user,
        "public": False,
        # Daytona counts from the last call and ignores running processes: its 15 minutes would stop a busy agent.
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
    """Return the limits in Daytona's whole units, never less than requested."""
    return DaytonaResources(
        cpu=max(math.ceil(asked.cpus), 1),
        memory=max(math.ceil(asked.memory_bytes / GIBIBYTE), 1),
        disk=max(math.ceil(asked.disk_bytes / GIBIBYTE), 1),
    )


def check(spec: SandboxSpec) -> None:
    """Raise `ProviderError` for a spec that cannot work, before anything is created."""
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
    """Return the settings of the firewall: only the gateway is open, and the package index where it is needed."""
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
