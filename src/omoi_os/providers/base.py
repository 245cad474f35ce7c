"""The contract of a sandbox provider."""

from collections.abc import AsyncIterator, Mapping, Sequence
from dataclasses import dataclass, field
from datetime import timedelta
from enum import StrEnum
from pathlib import Path
from typing import NewType, Protocol, runtime_checkable

#: A provider's own name for a sandbox. It is stored as `sandbox.provider_ref` and outlives this process.
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
    """Where the worker is inside this provider's sandboxes."""

    #: The interpreter that has the agent's SDK among its packages.
    python: str
    #: The folder that contains the package `omoi_os`.
    source: str


@dataclass(frozen=True, slots=True)
class SandboxSpec:
    """The sandbox to create."""

    #: Our id of the sandbox. The provider creates each id at most once, and `list` returns it.
    id: str
    #: The installation that the sandbox belongs to; `list` filters by this label.
    owner: str
    #: The first process. When it ends, the sandbox ends.
    argv: Sequence[str]
    #: The complete environment of the first process and of every `exec`: nothing is added or inherited.
    env: Mapping[str, str]
    resources: Resources
    #: The provider ends the sandbox by itself after this long.
    lifetime: timedelta
    #: A folder of this machine with the gateway socket, mounted at `protocol.paths.GATEWAY_FOLDER`.
    gateway_folder: Path | None = None
    #: A bare repository of this machine, mounted read-only at `protocol.paths.MIRROR`, for fast clones.
    mirror: Path | None = None
    #: A prepared checkout on this machine (`providers.checkout_folder`): the initial content of the workspace, never
    #: modified from inside. A provider without `has_checkouts` starts with an empty workspace, and any other provider
    #: may.
    checkout: Path | None = None
    labels: Mapping[str, str] = field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class ListedSandbox:
    """A sandbox that exists at a provider."""

    ref: SandboxRef
    #: The `id` of its spec. It identifies a sandbox whose `ref` was never stored because we crashed after `create`.
    id: str


@dataclass(frozen=True, slots=True)
class ExecResult:
    """How a command ended. A non-zero exit is a result, not an error."""

    exit_code: int
    stdout: bytes
    stderr: bytes
    #: True if the output was longer than what is kept.
    truncated: bool = False


class EndReason(StrEnum):
    """Why a sandbox is no longer alive."""

    EXITED = "exited"  #: its first process exited
    SIGNALLED = "signalled"  #: its first process was killed by a signal
    OUT_OF_MEMORY = "out_of_memory"  #: its first process, or one that it waited for, was killed for memory
    DISK_FULL = "disk_full"  #: it exceeded its disk limit
    LIFETIME = "lifetime"  #: it reached the end of its lifetime
    DESTROYED = "destroyed"  #: it was stopped by `destroy`
    UNKNOWN = "unknown"  #: its guest or supervisor died without reporting


@dataclass(frozen=True, slots=True)
class SandboxReport:
    """Alive, or how it ended."""

    alive: bool
    reason: EndReason | None = None
    exit_code: int | None = None
    signal: int | None = None
    #: Current use, or the peak where the provider only reports that; None where it cannot be measured.
    memory_bytes: int | None = None
    cpu_seconds: float | None = None
    disk_bytes: int | None = None
    pids: int | None = None
    #: A sentence about the end, if the provider knows more than the reason expresses.
    detail: str = ""


@dataclass(frozen=True, slots=True)
class Limits:
    """How a provider limits each resource of a sandbox, in a few words each ("not limited" if it does not)."""

    memory: str
    cpu: str
    pids: str
    disk: str


class SandboxProvider(Protocol):
    """Create and destroy sandboxes, and run commands in them.

    Any method may raise `ProviderUnavailable`; all but `create`, `list` and `destroy` raise `SandboxGone` for a
    sandbox that no longer exists. A sandbox whose first process has ended still exists until it is destroyed: its
    files can be read and commands can be run in it, so that unfinished work can be salvaged.
    """

    @property
    def name(self) -> str:
        """The provider's name in settings and rows."""

    @property
    def site(self) -> str:
        """Where it creates sandboxes: only orchestrators with the same site can see whether one is alive."""

    @property
    def runtime(self) -> Runtime:
        """Where the worker is inside its sandboxes."""

    @property
    def has_gateway_socket(self) -> bool:
        """Whether sandboxes reach the gateway by a socket in `spec.gateway_folder`; if not, they use `CALLBACK_URL`."""

    @property
    def limits(self) -> Limits:
        """How each resource of a sandbox is limited."""

    @property
    def limits_warning(self) -> str | None:
        """A sentence for the operator that names the resources that cannot be limited, or None."""

    async def create(self, spec: SandboxSpec) -> SandboxRef:
        """Create a sandbox, start its first process and return the provider's name for it.

        An id that already exists raises `ProviderError`. A call that fails or is cancelled leaves nothing behind.
        """

    async def exec(
        self, ref: SandboxRef, argv: Sequence[str], *, stdin: bytes = b"", cwd: str | None = None, timeout: timedelta
    ) -> ExecResult:
        """Run a command to its end, also after the first process has ended.

        A non-zero exit is a result; a signal is reported as 128 plus its number. Processes that the command leaves
        running are killed. `TimeoutError` is raised once the command's whole process tree is dead.
        """

    async def write_file(self, ref: SandboxRef, path: str, content: bytes) -> None:
        """Write a file inside, creating its parents. The path is absolute and under the home or the workspace."""

    async def read_file(self, ref: SandboxRef, path: str) -> bytes:
        """Read a file from inside, also after the sandbox ended. Raises `FileNotFoundError`."""

    async def inspect(self, ref: SandboxRef, *, wait: timedelta | None = None) -> SandboxReport:
        """Report whether it is alive, or how it ended.

        With `wait`, return as soon as it ends, or after that long if it is still alive.
        """

    def list(self, *, owner: str) -> AsyncIterator[ListedSandbox]:
        """Yield every sandbox of this owner that was not destroyed, alive or ended."""

    async def destroy(self, ref: SandboxRef) -> None:
        """End it and remove every trace. Destroying a sandbox that no longer exists succeeds."""


@runtime_checkable
class Layered(Protocol):
    """A provider that can mount a workspace as a layer over `spec.checkout`."""

    @property
    def has_checkouts(self) -> bool:
        """Whether this machine supports it."""


@runtime_checkable
class Keeping(Protocol):
    """A provider that can end a sandbox's processes and keep its files."""

    async def keep(self, ref: SandboxRef) -> int | None:
        """End every process of the sandbox and keep its files until it is destroyed; commands can still be run.

        Return the size of the files on disk, if known. Raises `SandboxGone`.
        """


@runtime_checkable
class Connected(Protocol):
    """A provider that holds connections."""

    async def close(self) -> None:
        """Close them. The sandboxes stay; a new provider object finds them."""
