"""The test bench of a provider: creates sandboxes, runs code in them, and removes them all."""

import asyncio
import json
import secrets
from collections.abc import Awaitable, Callable, Mapping, Sequence
from dataclasses import dataclass, field
from datetime import timedelta
from typing import Any, Self, TypeVar

from omoi_os.conformance import Failed, expect
from omoi_os.protocol import paths
from omoi_os.providers.base import ExecResult, Resources, SandboxProvider, SandboxRef, SandboxReport, SandboxSpec

MEBIBYTE = 1024 * 1024

ORDINARY = Resources(512 * MEBIBYTE, cpus=2, pids=256, disk_bytes=512 * MEBIBYTE)
SMALL = Resources(96 * MEBIBYTE, cpus=0.25, pids=48, disk_bytes=64 * MEBIBYTE)

T = TypeVar("T")

#: The environment of sandboxes whose check is not about the environment.
ENV = {"PATH": "/usr/local/bin:/usr/bin:/bin", "HOME": paths.HOME, "LANG": "C.UTF-8"}

_PAUSE = "import signal\nwhile True: signal.pause()"
_AWAIT_FILE = """
import os, sys, time
while not (os.path.exists(sys.argv[1]) and os.path.getsize(sys.argv[1])): time.sleep(0.01)
sys.stdout.write(open(sys.argv[1]).read())
"""


@dataclass(frozen=True, slots=True)
class Pace:
    """How long things may take; a remote provider needs more."""

    #: The longest that one call may take.
    patience: timedelta = timedelta(seconds=60)
    #: How soon an end, or an exceeded limit, must be noticed.
    notice: timedelta = timedelta(seconds=20)
    #: Timeouts that are meant to expire.
    short: timedelta = timedelta(seconds=2)
    #: The shortest lifetime that the provider can enforce.
    lifetime: timedelta = timedelta(seconds=2)


@dataclass(frozen=True, slots=True)
class Targets:
    """What sandboxes must not reach."""

    #: Where clouds serve a machine's credentials.
    metadata: tuple[str, int] = ("169.254.169.254", 80)
    #: A name that the internet resolves.
    name: str = "example.org"


@dataclass(slots=True)
class Bench:
    """A provider under test. Every call of the factory stands for a restart of our process."""

    factory: Callable[[], SandboxProvider]
    #: Checks or whole guarantees that this provider is known not to pass, each with the reason.
    gaps: Mapping[str, str] = field(default_factory=dict)
    #: The resources of an ordinary sandbox.
    resources: Resources = ORDINARY
    #: The resources of a sandbox that is meant to hit its limits.
    small: Resources = SMALL
    pace: Pace = field(default_factory=Pace)
    targets: Targets = field(default_factory=Targets)
    #: A separate label, so that no sandbox of this installation is touched.
    owner: str = field(default_factory=lambda: f"conformance-{secrets.token_hex(6)}")
    provider: SandboxProvider = field(init=False)
    _owners: set[str] = field(init=False, default_factory=set)
    _shared: SandboxRef | None = field(init=False, default=None)

    def __post_init__(self) -> None:
        """Start with a first provider object, and raise the resources to what it can provide."""
        self.provider = self.factory()
        least: Resources | None = getattr(self.provider, "smallest", None)
        if least is not None:
            self.resources, self.small = _raised(self.resources, least), _raised(self.small, least)

    async def __aenter__(self) -> Self:
        return self

    async def __aexit__(self, *_: object) -> None:
        await self.clear()

    async def clear(self, *, but_shared: bool = False) -> None:
        """Destroy every sandbox that was created here."""
        if not but_shared:
            self._shared = None
        for owner in self._owners:
            for ref in await self.refs(owner) - {self._shared}:
                await self.provider.destroy(ref)

    def restart(self) -> None:
        """Continue with a new provider object that remembers nothing."""
        self.provider = self.factory()

    def spec(self, argv: Sequence[str] | None = None, **changes: Any) -> SandboxSpec:
        """Return a spec with ordinary values for what is not given; its first process waits."""
        fields: dict[str, Any] = {
            "id": f"omoios-check-{secrets.token_hex(6)}",
            "owner": self.owner,
            "argv": self.code(_PAUSE) if argv is None else argv,
            "env": ENV,
            "resources": self.resources,
            "lifetime": timedelta(minutes=30),
        }
        return SandboxSpec(**(fields | changes))

    def code(self, program: str, *arguments: str) -> list[str]:
        """Return the command that runs Python code inside."""
        return [self.provider.runtime.python, "-I", "-S", "-c", program, *arguments]

    async def make(self, argv: Sequence[str] | None = None, **changes: Any) -> SandboxRef:
        """Create a sandbox."""
        return await self.create(self.spec(argv, **changes))

    async def create(self, spec: SandboxSpec) -> SandboxRef:
        """Create a sandbox from exactly this spec; it is destroyed in the end."""
        self._owners.add(spec.owner)
        return await self.within(self.provider.create(spec), "create")

    async def shared(self) -> SandboxRef:
        """Return a waiting sandbox for checks that change nothing in it."""
        if self._shared is None or not (await self.provider.inspect(self._shared)).alive:
            self._shared = await self.make()
        return self._shared

    async def exec(self, ref: SandboxRef, argv: Sequence[str], **options: Any) -> ExecResult:
        """Run a command to its end, with a generous timeout."""
        options.setdefault("timeout", self.pace.patience)
        return await self.within(self.provider.exec(ref, argv, **options), f"exec of {argv[0]}")

    async def sh(self, ref: SandboxRef, script: str, *arguments: str, **options: Any) -> ExecResult:
        """Run a shell script inside; its arguments are `$1` and so on."""
        return await self.exec(ref, ["/bin/sh", "-c", script, "sh", *arguments], **options)

    async def ask(self, ref: SandboxRef, program: str, *arguments: str, **options: Any) -> Any:
        """Run Python code inside that prints a JSON document, and return that document."""
        result = await self.exec(ref, self.code(program, *arguments), **options)
        return _parsed(result.stdout, f"exit code {result.exit_code}, {result.stderr.decode(errors='replace')[-300:]}")

    async def ask_first(self, program: str, *arguments: str, **changes: Any) -> Any:
        """Do the same in the first process of a new sandbox."""
        into_file = f"import sys\nsys.stdout = open('answer', 'w')\n{program}"
        ref = await self.make(self.code(into_file, *arguments), **changes)
        report = await self.end_of(ref)
        return _parsed(await self.provider.read_file(ref, f"{paths.WORKSPACE}/answer"), str(report))

    async def file_of(self, ref: SandboxRef, name: str) -> str:
        """Return the text of a file in the workspace as soon as it exists and is not empty."""
        result = await self.exec(ref, self.code(_AWAIT_FILE, name))
        expect(result.exit_code == 0, f"waiting for {name} ended with {result}")
        return result.stdout.decode()

    async def end_of(self, ref: SandboxRef) -> SandboxReport:
        """Wait for the end of a sandbox and return how it ended."""
        report = await self.within(self.provider.inspect(ref, wait=self.pace.patience), "inspect")
        expect(not report.alive, f"it is still alive after {self.pace.patience.total_seconds():g} s")
        return report

    async def refs(self, owner: str | None = None) -> set[SandboxRef]:
        """Return the references that the provider lists."""
        return {listed.ref async for listed in self.provider.list(owner=owner or self.owner)}

    async def within(self, call: Awaitable[T], what: str) -> T:
        """Return the call's result. Raises `Failed` if it hangs; its own timeouts are shorter than this one."""
        limit = 2 * self.pace.patience.total_seconds()
        timer = asyncio.timeout(limit)
        try:
            async with timer:
                return await call
        except TimeoutError:
            if not timer.expired():
                raise
            raise Failed(f"{what} did not return within {limit:g} s") from None


def _raised(wanted: Resources, least: Resources) -> Resources:
    return Resources(
        max(wanted.memory_bytes, least.memory_bytes),
        cpus=max(wanted.cpus, least.cpus),
        pids=max(wanted.pids, least.pids),
        disk_bytes=max(wanted.disk_bytes, least.disk_bytes),
    )


def _parsed(text: bytes, otherwise: str) -> Any:
    try:
        return json.loads(text)
    except ValueError:
        raise Failed(f"the code inside printed no answer: {otherwise}") from None
