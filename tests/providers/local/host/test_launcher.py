"""The process that supervisors are forked from: it may die, and it ends with its provider; sandboxes continue."""

import asyncio
import gc
import json
import os
import signal
from collections.abc import Callable
from datetime import timedelta
from pathlib import Path

from omoi_os.providers.base import SandboxSpec
from omoi_os.providers.local.host.provider import LocalProvider
from omoi_os.providers.local.supervisor import processes

SOON = timedelta(seconds=30)

MakeSpec = Callable[..., SandboxSpec]


def forker_of(root: Path, ref: str) -> int:
    """The pid of the process that a sandbox's supervisor was forked from."""
    supervisor = json.loads((root / ref / "state.json").read_text())["supervisor"].split()[0]
    return int(Path(f"/proc/{supervisor}/stat").read_text().rpartition(")")[2].split()[1])


async def gone(pidfd: int) -> bool:
    ended = await asyncio.to_thread(processes.has_ended, pidfd, wait_ms=10_000)
    os.close(pidfd)
    return ended


async def test_one_process_starts_all_sandboxes_and_is_replaced_when_it_was_killed(
    provider: LocalProvider, make_spec: MakeSpec, root: Path
) -> None:
    first = await provider.create(make_spec())
    second = await provider.create(make_spec())
    forker = forker_of(root, first)
    assert forker_of(root, second) == forker
    pidfd = os.pidfd_open(forker)
    os.kill(forker, signal.SIGKILL)
    assert await gone(pidfd)

    third = await provider.create(make_spec())

    assert forker_of(root, third) != forker
    assert all([(await provider.inspect(ref)).alive for ref in (first, second, third)])


async def test_it_ends_with_its_provider_and_the_sandboxes_continue(
    provider: LocalProvider, make_spec: MakeSpec, root: Path
) -> None:
    other = LocalProvider(root)
    ref = await other.create(make_spec())
    pidfd = os.pidfd_open(forker_of(root, ref))

    del other
    gc.collect()

    assert await gone(pidfd)
    assert (await provider.exec(ref, ["echo", "here"], timeout=SOON)).stdout == b"here\n"


async def test_a_supervisor_shows_its_sandbox_in_its_command_line_and_nothing_else(
    provider: LocalProvider, make_spec: MakeSpec, root: Path
) -> None:
    ref = await provider.create(make_spec(env={"PATH": "/bin", "TOKEN": "canary"}))

    pid = json.loads((root / ref / "state.json").read_text())["supervisor"].split()[0]

    line = Path(f"/proc/{pid}/cmdline").read_bytes().strip(b"\0")
    assert line == f"omoi sandbox {root / ref}".encode()
