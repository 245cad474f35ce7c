"""What this machine offers to sandboxes, determined once."""

import hashlib
import os
from functools import cached_property
from pathlib import Path

from omoi_os.providers.base import Limits
from omoi_os.providers.guest import kernel
from omoi_os.providers.local.host import bubblewrap, disk_template, profile
from omoi_os.providers.local.supervisor import cgroups, disk

_WATCHED = (
    "The disk use of a sandbox is only watched on this machine, so it may exceed its limit for a few seconds; run as "
    "root on a machine with loop devices and mkfs.ext4 for an exact limit."
)
_UNLIMITED = (
    f"The disk use of a sandbox is not limited on this machine, because it has no {disk.DU}. Install coreutils."
)

_GROUP = "control group"
_WITHOUT_GROUP = {
    "memory": "per process only (RLIMIT_DATA)",
    "cpu": "not limited",
    "pids": "RLIMIT_NPROC in the sandbox's own user namespace",
}


class Machine:
    """The facts about this machine that every sandbox depends on."""

    def __init__(self) -> None:
        #: The folders for control groups, as returned by `cgroups.detect`.
        self.layout = cgroups.detect()
        #: Whether each sandbox gets a disk image, so that its limit is exact.
        self.has_images = disk_template.works()

    @cached_property
    def host(self) -> profile.Host:
        """What sandboxes see of this machine."""
        return profile.look_at_host()

    @cached_property
    def bwrap(self) -> Path:
        """The bwrap to use. Raises `SetupError`."""
        return bubblewrap.find()

    @property
    def limits(self) -> Limits:
        """How each resource of a sandbox is limited here."""
        missing = cgroups.missing(self.layout)
        how = {name: _WITHOUT_GROUP[name] if name in missing else _GROUP for name in cgroups.CONTROLLERS}
        if "pids" in self._unlimited:
            how["pids"] = "not limited (needs Linux 5.14)"
        watched = "watched every few seconds" if Path(disk.DU).exists() else "not limited"
        return Limits(**how, disk="disk image" if self.has_images else watched)

    @property
    def limits_warning(self) -> str | None:
        """Sentences for the operator about what is not limited here, or None."""
        watched = _WATCHED if Path(disk.DU).exists() else _UNLIMITED
        warnings = [_groups_warning(self._unlimited), None if self.has_images else watched]
        return " ".join(warning for warning in warnings if warning) or None

    @property
    def _unlimited(self) -> list[str]:
        """The resources that nothing limits for all processes of a sandbox together."""
        counted = is_root() or kernel.counts_processes_by_namespace()
        return [name for name in cgroups.missing(self.layout) if name != "pids" or not counted]

    def groups_for(self, folder: Path) -> dict[str, str]:
        """Return the control groups of a sandbox. Their name depends on its folder, as ids are not unique."""
        digest = hashlib.sha256(os.fsencode(folder.absolute())).hexdigest()
        return cgroups.groups_of(self.layout, f"{folder.name}-{digest[:8]}")


def is_root() -> bool:
    """Return whether we are root, so that each sandbox gets its own uid."""
    return os.geteuid() == 0


def _groups_warning(unlimited: list[str]) -> str | None:
    if not unlimited:
        return None
    return (
        f"This machine has no control group for {', '.join(unlimited)}, so a sandbox's use of it is limited only "
        "per process or not at all; run as root, or under `systemd-run --user --scope -p Delegate=yes`."
    )
