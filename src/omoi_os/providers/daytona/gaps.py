"""The guarantees of a provider that Daytona does not give, by check or guarantee, each with its reason."""

from collections.abc import Mapping

from omoi_os.providers.base import Limits, Resources
from omoi_os.providers.daytona.params import GIBIBYTE, Source

#: Daytona counts in whole processors and GiB, and does not count processes.
SMALLEST = Resources(GIBIBYTE, cpus=1, pids=1, disk_bytes=GIBIBYTE)

_ALWAYS = {
    "the_system_cannot_be_changed": "Daytona mounts the root of a sandbox writable; changes are removed with it",
    "there_are_no_privileges": (
        "the user inside is that of the snapshot or image, at Daytona often the container's root; "
        "OMOI_DAYTONA_USER names another"
    ),
    "no_namespace_can_be_made": "the system calls of a sandbox are filtered by Daytona's runtime and not by us",
}
_OPEN_NETWORK = "OMOI_DAYTONA_OPEN_NETWORK lets sandboxes reach the whole network"


def limits_warning(source: Source) -> str:
    """Return which resources of a sandbox are not limited as configured."""
    if source.is_built:
        return (
            "Daytona does not limit the number of processes (pids) in a sandbox, and rounds its limits up to whole GiB."
        )
    return (
        f"Memory, CPU and disk of a sandbox are those of the Daytona snapshot {source.snapshot or 'by default'}, "
        "not the configured ones, and its processes (pids) are not limited."
    )


def limits_of(source: Source) -> Limits:
    """Return how Daytona limits a sandbox created from this source."""
    how = "by Daytona, in whole units" if source.is_built else "by Daytona, as in the snapshot"
    return Limits(memory=how, cpu=how, pids="not limited", disk=how)


def gaps_of(source: Source) -> Mapping[str, str]:
    """Return the gaps of sandboxes created from this source. Limits on memory, CPU and processes are in the warning."""
    disk = {} if source.is_built else {"disk": limits_warning(source)}
    network = {"network": _OPEN_NETWORK} if source.gateway is None else {}
    return {**_ALWAYS, **disk, **network}
