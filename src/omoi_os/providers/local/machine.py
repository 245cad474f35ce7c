"""What this machine offers to sandboxes, looked up once."""

import hashlib
import os
from functools import cached_property
from pathlib import Path

from omoi_os.providers.local import bubblewrap, cgroups, disk, profile, template

_WATCHED = (
    "The disk use of a sandbox is only watched on this machine, so it may exceed its limit for a few seconds; run as "
    "root on a machine with loop devices and mkfs.ext4 for an exact limit."
)
_UNLIMITED = f"The disk use of a sandbox is not limited on this machine, for it has no {disk.DU}; install coreutils."


class Machine:
    """The facts that every sandbox here depends on."""

    def __init__(self) -> None:
        #: The folders for control groups, as `cgroups.detect` gives them.
        self.layout = cgroups.detect()
        #: Whether each sandbox gets a disk image, so that its limit is exact.
        self.has_images = template.works()

    @cached_property
    def host(self) -> profile.Host:
        """What sandboxes see of this machine."""
        return profile.look_at_host()

    @cached_property
    def bwrap(self) -> Path:
        """The bwrap to use. Raises `SetupError`."""
        return bubblewrap.find()

    @property
    def limits_warning(self) -> str | None:
        """What is not limited here, as sentences for a person."""
        watched = _WATCHED if Path(disk.DU).exists() else _UNLIMITED
        warnings = [cgroups.limits_warning(self.layout), None if self.has_images else watched]
        return " ".join(warning for warning in warnings if warning) or None

    def groups_for(self, folder: Path) -> dict[str, str]:
        """The control groups of a sandbox. Their name has its folder in it: another installation may use its id."""
        digest = hashlib.sha256(os.fsencode(folder.absolute())).hexdigest()
        return cgroups.groups_of(self.layout, f"{folder.name}-{digest[:8]}")


def is_root() -> bool:
    """Whether sandboxes get real uids of their own."""
    return os.geteuid() == 0
