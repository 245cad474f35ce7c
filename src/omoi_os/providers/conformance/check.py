"""One check: a behaviour by name, the guarantee it stands for, and the function that looks."""

from collections.abc import Awaitable, Callable
from dataclasses import dataclass
from enum import StrEnum

from omoi_os.providers.conformance.bench import Bench

Function = Callable[[Bench], Awaitable[None]]


class Guarantee(StrEnum):
    """What a provider promises. A known gap names one check, or one of these for all of its checks."""

    COMMANDS = "commands"  #: programs run as told, and end when told
    FILES = "files"  #: files go in and come out unchanged
    LIFE = "life"  #: made, found, ended and destroyed as asked
    ENDINGS = "endings"  #: how a sandbox ended is told
    ISOLATION = "isolation"  #: nothing of the host or of other sandboxes is seen or changed
    NETWORK = "network"  #: nothing can be reached but the gateway
    MEMORY = "memory"  #: memory is limited
    CPU = "cpu"  #: processor time is limited
    PIDS = "pids"  #: the number of processes is limited
    DISK = "disk"  #: disk space is limited
    USAGE = "usage"  #: what a sandbox uses is told
    BOUND_FOLDERS = "bound_folders"  #: folders of this machine are bound in


@dataclass(frozen=True, slots=True)
class Check:
    """An async function `check(bench)` that raises `Failed` with what it saw."""

    name: str
    guarantee: Guarantee
    promise: str
    function: Function

    def __call__(self, bench: Bench) -> Awaitable[None]:
        """Look. Raises `Failed`."""
        return self.function(bench)

    def __str__(self) -> str:
        return self.name


def collector(found: list[Check]) -> Callable[[Guarantee], Callable[[Function], Check]]:
    """A decorator that turns functions into checks of the given guarantee and collects them."""

    def of(guarantee: Guarantee) -> Callable[[Function], Check]:
        def add(function: Function) -> Check:
            name = getattr(function, "__name__", "")
            made = Check(name, guarantee, (function.__doc__ or "").strip(), function)
            found.append(made)
            return made

        return add

    return of
