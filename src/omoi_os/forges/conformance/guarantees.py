"""What a forge guarantees, and the checks of it."""

from enum import StrEnum
from typing import TypeAlias

from omoi_os import conformance
from omoi_os.forges.conformance.bench import Bench

Check: TypeAlias = conformance.Check[Bench]


class Guarantee(StrEnum):
    """What a forge guarantees. A known gap names one check, or one of these for all of its checks."""

    REPOSITORIES = "repositories"  #: created once, with a default branch
    BRANCHES = "branches"  #: created for one task, recognised after a crash, never taken over
    NAMES = "names"  #: hostile names change nothing
    HEADS = "heads"  #: the heads of branches are reported as they are
    HELD_BRANCHES = "held_branches"  #: a held branch does not move
    MIRRORS = "mirrors"  #: a repository is served from this machine, and its damage is named
    DURABILITY = "durability"  #: what was acknowledged survives a restart
