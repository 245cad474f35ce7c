"""One check: a behaviour by name, the guarantee it belongs to, and the function that tests it."""

from collections.abc import Awaitable, Callable
from dataclasses import dataclass
from enum import StrEnum

from omoi_os.forges.conformance.bench import Bench

Function = Callable[[Bench], Awaitable[None]]


class Guarantee(StrEnum):
    """What a forge guarantees. A known gap names one check, or one of these for all of its checks."""

    REPOSITORIES = "repositories"  #: created once, with a default branch
    BRANCHES = "branches"  #: created for one task, recognised after a crash, never taken over
    NAMES = "names"  #: hostile names change nothing
    HEADS = "heads"  #: the heads of branches are reported as they are
    HOLDING = "holding"  #: a held branch does not move
    MIRRORS = "mirrors"  #: a repository is served from this machine, and its damage is named
    DURABILITY = "durability"  #: what was acknowledged survives a restart


@dataclass(frozen=True, slots=True)
class Check:
    """An async function `check(bench)` that raises `Failed` with what it observed."""

    name: str
    guarantee: Guarantee
    promise: str
    function: Function

    def __call__(self, bench: Bench) -> Awaitable[None]:
        """Run the check. Raises `Failed`."""
        return self.function(bench)

    def __str__(self) -> str:
        return self.name


def collector(found: list[Check], guarantee: Guarantee) -> Callable[[Function], Check]:
    """Return a decorator that turns functions into checks of a guarantee and appends them to `found`."""

    def add(function: Function) -> Check:
        name = getattr(function, "__name__", "")
        check = Check(name, guarantee, (function.__doc__ or "").strip(), function)
        found.append(check)
        return check

    return add
