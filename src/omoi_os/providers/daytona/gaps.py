"""What Daytona itself does not keep of a provider's promises, by check or guarantee, each with its reason."""

from collections.abc import Mapping

from omoi_os.providers.base import Limits, Resources
from omoi_os.providers.daytona.params import GIBIBYTE, Source

#: Daytona counts in whole processors and GiB. Processes it does not count at all.
SMALLEST = Resources(GIBIBYTE, cpus=1, pids=1, disk_bytes=GIBIBYTE)

_ALWAYS = {
    "the_system_cannot_be_changed": "Daytona mounts the root of a sandbox for writing; what is changed goes with it",
    "there_are_no_privileges": (
        "the user inside is that of the snapshot or image, at Daytona often root of its own container; "
        "OMOI_DAYTONA_USER names another"
    ),
    "no_namespace_can_be_made": "the system calls of a sandbox are filtered by Daytona's runtime and not by us",
}
_OPEN_NETWORK = "OMOI_DAYTONA_OPEN_NETWORK lets sandboxes reach all of the network"


def limits_warning(source: Source) -> str:
    """What of a sandbox's resources is not as configured."""
    if source.is_built:
        return (
            "Daytona does not limit the number of processes (pids) in a sandbox, and rounds its limits up to whole GiB."
        )
    return (
        f"Memory, CPU and disk of a sandbox are those of the Daytona snapshot {source.snapshot or 'by default'}, "
        "not the configured ones, and its processes (pids) are not limited."
    )


def limits_of(source: Source) -> Limits:
    """How Daytona limits a sandbox made from this."""
    how = "by Daytona, in whole units" if source.is_built else "by Daytona, as in the snapshot"
    return Limits(memory=how, cpu=how, pids="not limited", disk=how)


def gaps_of(source: Source) -> Mapping[str, str]:
    """The gaps of sandboxes that are made from this. Limits on memory, CPU and processes are in the warning."""
    disk = {} if source.is_built else {"disk": limits_warning(source)}
    network = {"network": _OPEN_NETWORK} if source.gateway is None else {}
    return {**_ALWAYS, **disk, **network}
