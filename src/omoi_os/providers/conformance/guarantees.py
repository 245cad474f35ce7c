"""What a provider guarantees, and the checks of it."""

from enum import StrEnum
from typing import TypeAlias

from omoi_os import conformance
from omoi_os.providers.conformance.bench import Bench

Check: TypeAlias = conformance.Check[Bench]


class Guarantee(StrEnum):
    """A guarantee of a provider. A known gap names one check, or one of these for all of its checks."""

    COMMANDS = "commands"  #: programs run as requested, and end in time
    FILES = "files"  #: files are written and read unchanged
    LIFE = "life"  #: created, found, ended and destroyed as requested
    ENDINGS = "endings"  #: how a sandbox ended is reported
    ISOLATION = "isolation"  #: nothing of the host or of other sandboxes is seen or changed
    NETWORK = "network"  #: only the gateway can be reached
    MEMORY = "memory"  #: memory is limited
    CPU = "cpu"  #: processor time is limited
    PIDS = "pids"  #: the number of processes is limited
    DISK = "disk"  #: disk space is limited
    USAGE = "usage"  #: what a sandbox uses is reported
    BOUND_FOLDERS = "bound_folders"  #: folders of this machine are mounted
