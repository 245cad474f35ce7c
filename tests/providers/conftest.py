"""Real sandboxes on this machine, and proof that none of them leaves anything behind."""

import os
import secrets
import sys
from collections.abc import AsyncIterator, Awaitable, Callable
from datetime import timedelta
from pathlib import Path
from typing import Any

import pytest

from omoi_os.providers.base import ExecResult, Resources, SandboxRef, SandboxSpec
from omoi_os.providers.local.host.provider import LocalProvider

MEBIBYTE = 1024 * 1024

MakeSpec = Callable[..., SandboxSpec]
Probe = Callable[..., Awaitable[ExecResult]]


def processes_below(root: Path) -> list[str]:
    """Return the command lines of the supervisors of this folder's sandboxes."""
    found = []
    for entry in Path("/proc").iterdir():
        try:
            line = (entry / "cmdline").read_bytes().replace(b"\0", b" ").decode() if entry.name.isdigit() else ""
        except OSError:
            continue
        if f" {root}/" in line:
            found.append(line)
    return found


@pytest.fixture
def root(tmp_path: Path) -> Path:
    """Where the provider of this test keeps its sandboxes."""
    return tmp_path / "sandboxes"


@pytest.fixture
async def provider(root: Path) -> AsyncIterator[LocalProvider]:
    """A provider whose sandboxes are all destroyed, and gone, after the test."""
    made = LocalProvider(root)
    yield made
    for path in list(root.iterdir()) if root.is_dir() else []:
        await made.destroy(SandboxRef(path.name))
    assert processes_below(root) == []
    assert not root.is_dir() or list(root.iterdir()) == []


@pytest.fixture
def make_spec() -> MakeSpec:
    """A specification with defaults for what a test does not care about."""

    def make(argv: list[str] | None = None, **changes: Any) -> SandboxSpec:
        fields: dict[str, Any] = {
            "id": f"omoios-test-{secrets.token_hex(4)}",
            "owner": "tests",
            "argv": argv or ["sleep", "600"],
            "env": {"PATH": "/usr/bin:/bin", "HOME": "/home/agent"},
            "resources": Resources(memory_bytes=256 * MEBIBYTE, cpus=1, pids=64, disk_bytes=64 * MEBIBYTE),
            "lifetime": timedelta(seconds=120),
        }
        return SandboxSpec(**(fields | changes))

    return make


@pytest.fixture
async def sandbox(provider: LocalProvider, make_spec: MakeSpec) -> SandboxRef:
    """A sandbox whose first process waits."""
    return await provider.create(make_spec())


@pytest.fixture
def probe(provider: LocalProvider, sandbox: SandboxRef) -> Probe:
    """Run Python code inside the waiting sandbox."""

    async def run(code: str, *arguments: str, **options: Any) -> ExecResult:
        command = [sys.executable, "-I", "-S", "-c", code, *arguments]
        return await provider.exec(sandbox, command, **({"timeout": timedelta(seconds=30)} | options))

    return run


@pytest.fixture
def is_root() -> bool:
    """Return whether each sandbox gets its own uid here."""
    return os.geteuid() == 0
