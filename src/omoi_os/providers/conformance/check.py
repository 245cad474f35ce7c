"""A check: a behaviour by name, the guarantee that it belongs to, and the function that tests it."""

from collections.abc import Awaitable, Callable
from dataclasses import dataclass
from enum import StrEnum

from omoi_os.providers.conformance.bench import Bench

Function = Callable[[Bench], Awaitable[None]]


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


@dataclass(frozen=True, slots=True)
class Check:
    """An async function `check(bench)` that raises `Failed` with what it saw."""

    name: str
    guarantee: Guarantee
    promise: str
    function: Function

    def __call__(self, bench: Bench) -> Awaitable[None]:
        """Run the check. Raises `Failed`."""
        return self.function(bench)

    def __str__(self) -> str:
        return self.name


def collector(found: list[Check]) -> Callable[[Guarantee], Callable[[Function], Check]]:
    """Return a decorator that turns functions into checks of a guarantee and collects them."""

    def of(guarantee: Guarantee) -> Callable[[Function], Check]:
        def add(function: Function) -> Check:
            name = getattr(function, "__name__", "")
            made = Check(name, guarantee, (function.__doc__ or "").strip(), function)
            found.append(made)
            return made

        return add

    return of
