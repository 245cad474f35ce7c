"""What every provider of sandboxes does."""

from collections.abc import AsyncIterator, Mapping, Sequence
from dataclasses import dataclass, field
from datetime import timedelta
from enum import StrEnum
from pathlib import Path
from typing import NewType, Protocol, runtime_checkable

#: A sandbox's name at its provider: the id of its spec. It is stored in a row and outlives this process.
SandboxRef = NewType("SandboxRef", str)


@dataclass(frozen=True, slots=True)
class Resources:
    """The most that one sandbox may use."""

    memory_bytes: int
    cpus: float
    pids: int
    #: Home and workspace together.
    disk_bytes: int


@dataclass(frozen=True, slots=True)
class Runtime:
    """Where our own program is inside this provider's sandboxes."""

    #: The interpreter that has the agent's SDK among its packages.
    python: str
    #: The folder that holds the package `omoi_os`.
    source: str


@dataclass(frozen=True, slots=True)
class SandboxSpec:
    """What to make."""

    #: The sandbox's id: unique, and exclusive at the provider, so that one id is never made twice.
    id: str
    #: Which installation it belongs to; `list` finds it by this label.
    owner: str
    #: The first process. When it ends, the sandbox ends.
    argv: Sequence[str]
    #: The whole environment of the first process and of every `exec`: nothing is added or inherited.
    env: Mapping[str, str]
    resources: Resources
    #: After this long the provider ends it by itself.
    lifetime: timedelta
    #: A folder of this machine with the gateway's socket, bound in at `protocol.paths.GATEWAY_FOLDER`.
    gateway_folder: Path | None = None
    #: A bare repository of this machine, bound in read-only at `protocol.paths.MIRROR`, for quick clones.
    mirror: Path | None = None
    #: A prepared checkout on this machine, see `providers.checkouts`: what the workspace begins with, never changed
    #: by what is done there. A provider without `has_checkouts` leaves the workspace empty, and any other may.
    checkout: Path | None = None
    labels: Mapping[str, str] = field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class ExecResult:
    """How a command ended. A non-zero exit is a result, not an error."""

    exit_code: int
    stdout: bytes
    stderr: bytes
    #: True when more was printed than was kept.
    truncated: bool = False


class EndReason(StrEnum):
    """Why a sandbox is no longer alive."""

    EXITED = "exited"  #: its first process ended by itself
    SIGNALLED = "signalled"  #: its first process was killed by a signal
    OUT_OF_MEMORY = "out_of_memory"  #: its first process or one it waited for was killed for memory
    DISK_FULL = "disk_full"  #: it was ended for using more disk than it may
    LIFETIME = "lifetime"  #: its lifetime was over
    DESTROYED = "destroyed"  #: it was asked to go
    UNKNOWN = "unknown"  #: its keeper died without telling


@dataclass(frozen=True, slots=True)
class SandboxReport:
    """Alive, or how it ended."""

    alive: bool
    reason: EndReason | None = None
    exit_code: int | None = None
    signal: int | None = None
    #: What it uses now, or used at the most when that is what the provider knows; None where it cannot tell.
    memory_bytes: int | None = None
    cpu_seconds: float | None = None
    disk_bytes: int | None = None
    pids: int | None = None
    #: A sentence about the end, where the provider knows more than the reason says.
    detail: str = ""


@dataclass(frozen=True, slots=True)
class Limits:
    """How a provider limits each resource of a sandbox, in a few words each; one that it does not limit says so."""

    memory: str
    cpu: str
    pids: str
    disk: str


class SandboxProvider(Protocol):
    """Makes and holds sandboxes.

    Any method may raise `ProviderUnavailable`; all but `create`, `list` and `destroy` raise `SandboxGone` for a
    sandbox that no longer exists. A sandbox whose first process has ended still exists until it is destroyed: its
    files can be read and commands can be run in it, so that unfinished work can be saved.
    """

    @property
    def name(self) -> str:
        """What a setting calls it."""

    @property
    def site(self) -> str:
        """Where it makes sandboxes: only orchestrators that name the same place can see whether one lives there."""

    @property
    def runtime(self) -> Runtime:
        """Where our own program is inside its sandboxes."""

    @property
    def has_gateway_socket(self) -> bool:
        """Whether sandboxes reach the gateway by a socket in `spec.gateway_folder`; else they use `CALLBACK_URL`."""

    @property
    def limits(self) -> Limits:
        """How each resource of a sandbox is limited here."""

    @property
    def limits_warning(self) -> str | None:
        """What of a sandbox's resources cannot be limited here, as a sentence for a person."""

    async def create(self, spec: SandboxSpec) -> SandboxRef:
        """Make it and start its first process. An id that exists already raises `ProviderError`;
        a create that fails or is cancelled leaves nothing behind."""

    async def exec(
        self, ref: SandboxRef, argv: Sequence[str], *, stdin: bytes = b"", cwd: str | None = None, timeout: timedelta
    ) -> ExecResult:
        """Run a command to its end, also after the first process has ended. A non-zero exit is a result, a signal is
        128 more than its number; what the command leaves running is killed. `TimeoutError` is raised once the
        command's whole process tree is dead."""

    async def write_file(self, ref: SandboxRef, path: str, content: bytes) -> None:
        """Write a file inside, making its parents. The path is absolute and under the home or the workspace."""

    async def read_file(self, ref: SandboxRef, path: str) -> bytes:
        """Read a file from inside, also after the sandbox ended. Raises `FileNotFoundError`."""

    async def inspect(self, ref: SandboxRef, *, wait: timedelta | None = None) -> SandboxReport:
        """Alive, or how it ended. With `wait`, answer when it ends, or as alive after that long."""

    def list(self, *, owner: str) -> AsyncIterator[SandboxRef]:
        """Every sandbox of this owner that was not destroyed, alive or ended."""

    async def destroy(self, ref: SandboxRef) -> None:
        """End it and remove every trace. Destroying what is already gone succeeds."""


@runtime_checkable
class Layered(Protocol):
    """What a provider that can lay a workspace over `spec.checkout` is as well."""

    @property
    def has_checkouts(self) -> bool:
        """Whether it can on this machine."""


@runtime_checkable
class Keeping(Protocol):
    """What a provider that can end a sandbox's processes and keep its files is as well."""

    async def keep(self, ref: SandboxRef) -> int | None:
        """End every process of the sandbox; its files stay until it is destroyed, and commands can still be run.
        Return how much room they take, if that is known. Raises `SandboxGone`."""


@runtime_checkable
class Connected(Protocol):
    """What a provider that holds connections is as well."""

    async def close(self) -> None:
        """Let go of them. The sandboxes stay; a new provider finds them."""
