"""A local sandbox after its first process has ended: its exit is reported, and commands can still be run in it."""

import asyncio
import contextlib
import json
import os
import signal
import sys
import time
from collections.abc import Callable
from datetime import timedelta
from pathlib import Path

import pytest

from omoi_os.errors import ProviderError, SandboxGone
from omoi_os.protocol import paths
from omoi_os.providers.base import EndReason, Resources, SandboxRef, SandboxSpec
from omoi_os.providers.guest import kernel
from omoi_os.providers.local.host import creation as making
from omoi_os.providers.local.host.machine import Machine
from omoi_os.providers.local.host.provider import LocalProvider
from omoi_os.providers.local.supervisor import cgroups, processes

SOON = timedelta(seconds=30)

MakeSpec = Callable[..., SandboxSpec]

KILLS = {
    "exit": "exit 3",
    "signal": "kill -9 $$",
    "lifetime": "exec sleep 600",
}
ENDS = {"exit": EndReason.EXITED, "signal": EndReason.SIGNALLED, "lifetime": EndReason.LIFETIME}


def state_of(root: Path, ref: str) -> dict[str, str]:
    """Return the document that identifies a sandbox's processes on the host."""
    found: dict[str, str] = json.loads((root / ref / "state.json").read_text())
    return found


async def kill_supervisor(root: Path, ref: str) -> None:
    """Kill it as a crash would, and wait until it is gone."""
    pidfd = processes.open_process(state_of(root, ref)["supervisor"])
    assert pidfd is not None
    os.kill(int(state_of(root, ref)["supervisor"].split()[0]), signal.SIGKILL)
    assert await asyncio.to_thread(processes.has_ended, pidfd, wait_ms=10_000)
    os.close(pidfd)


async def kill_all(provider: LocalProvider, ref: SandboxRef) -> None:
    """Kill everything from inside, which may end the sandbox before the command returns."""
    with contextlib.suppress(ProviderError):
        await provider.exec(ref, ["sh", "-c", "kill -9 -1"], timeout=SOON)


@pytest.mark.parametrize("how", sorted(KILLS))
async def test_commands_run_with_files_and_environment_after_every_kind_of_end(
    provider: LocalProvider, make_spec: MakeSpec, how: str
) -> None:
    lifetime = timedelta(seconds=1 if how == "lifetime" else 120)
    script = f"echo work > /workspace/left; echo own > $HOME/left; {KILLS[how]}"
    env = {"PATH": "/usr/bin:/bin", "HOME": paths.HOME, "GIVEN": "value"}
    ref = await provider.create(make_spec(["sh", "-c", script], env=env, lifetime=lifetime))
    before = await provider.inspect(ref, wait=SOON)

    seen = await provider.exec(
        ref, ["sh", "-c", 'cat; cat /workspace/left ~/left; echo "$GIVEN"'], stdin=b"in\n", timeout=SOON
    )
    again = await provider.exec(ref, ["sh", "-c", "id -u; cat /proc/self/status | grep -c 'CapEff.*0$'"], timeout=SOON)

    assert before.reason is ENDS[how]
    assert seen.stdout == b"in\nwork\nown\nvalue\n"
    assert again.stdout.split()[1] == b"1"
    after = await provider.inspect(ref)
    assert (after.alive, after.reason, after.exit_code, after.signal) == (
        False,
        before.reason,
        before.exit_code,
        before.signal,
    )


async def test_everything_else_is_killed_when_the_first_process_ends(
    provider: LocalProvider, make_spec: MakeSpec
) -> None:
    ref = await provider.create(make_spec(["sh", "-c", "setsid sleep 4711 & setsid sleep 4712 & exit 0"]))
    await provider.inspect(ref, wait=SOON)

    seen = await provider.exec(ref, ["sh", "-c", "cat /proc/[0-9]*/cmdline | tr '\\0' ' '"], timeout=SOON)

    assert b"cat" in seen.stdout
    assert b"sleep 471" not in seen.stdout


async def test_a_command_that_still_runs_when_the_first_process_ends_is_killed_with_an_error(
    provider: LocalProvider, make_spec: MakeSpec
) -> None:
    ref = await provider.create(make_spec(["sh", "-c", "until [ -e /workspace/up ]; do :; done"]))
    running = provider.exec(ref, ["sh", "-c", "touch /workspace/up; sleep 600"], timeout=SOON)

    with pytest.raises(ProviderError, match="ended while"):
        await running

    assert (await provider.exec(ref, ["echo", "here"], timeout=SOON)).stdout == b"here\n"


async def test_an_ended_sandbox_keeps_only_its_supervisor_until_a_command_is_run(
    provider: LocalProvider, make_spec: MakeSpec, root: Path
) -> None:
    ref = await provider.create(make_spec(["true"]))
    init = state_of(root, ref)["init"]
    await provider.inspect(ref, wait=SOON)
    groups = [Path(group) for group in Machine().groups_for(root / ref).values()]

    assert processes.open_process(init) is None
    assert not any(group.exists() for group in groups)
    await provider.exec(ref, ["true"], timeout=SOON)
    assert all(group.exists() for group in groups)


async def test_waiting_callers_are_woken_by_the_end_itself(provider: LocalProvider, make_spec: MakeSpec) -> None:
    ref = await provider.create(make_spec(["sh", "-c", "until [ -e /workspace/go ]; do sleep 0.01; done"]))
    waiting = [asyncio.create_task(provider.inspect(ref, wait=timedelta(seconds=60))) for _ in range(5)]
    early = await provider.inspect(ref, wait=timedelta(milliseconds=20))

    started = time.monotonic()
    await provider.write_file(ref, "/workspace/go", b"")
    reports = await asyncio.gather(*waiting)

    assert early.alive
    assert {report.reason for report in reports} == {EndReason.EXITED}
    assert time.monotonic() - started < 20
    assert not (await provider.inspect(ref, wait=timedelta(seconds=60))).alive


async def test_after_its_supervisor_was_killed_an_ended_sandbox_still_runs_commands(
    provider: LocalProvider, make_spec: MakeSpec, root: Path, tmp_path: Path
) -> None:
    gateway_folder = tmp_path / "gateway_folder"
    gateway_folder.mkdir(mode=0o755)
    (gateway_folder / "token").write_text("gateway_folder")
    ref = await provider.create(
        make_spec(
            ["sh", "-c", "id -u > /workspace/uid; exit 4"],
            env={"SECRET": "s", "PATH": "/bin"},
            gateway_folder=gateway_folder,
        )
    )
    await provider.inspect(ref, wait=SOON)
    await kill_supervisor(root, ref)

    seen = await provider.exec(ref, ["sh", "-c", "cat /workspace/uid; id -u; cat /run/omoi/token"], timeout=SOON)
    environment = await provider.exec(ref, ["/usr/bin/env", "-0"], timeout=SOON)

    owner, own, token = seen.stdout.split()
    assert owner == own
    assert token == b"gateway_folder"
    told = dict(item.split("=", 1) for item in environment.stdout.decode().split("\0") if item)
    assert told == making.BARE_ENVIRONMENT
    report = await provider.inspect(ref)
    assert (report.alive, report.reason, report.exit_code) == (False, EndReason.EXITED, 4)
    await provider.write_file(ref, "/workspace/new", b"new")
    assert await provider.read_file(ref, "/workspace/new") == b"new"
    assert not [path for path in (root / ref).rglob("*") if path.is_file() and b"SECRET" in path.read_bytes()]


async def test_a_sandbox_whose_supervisor_was_killed_stays_ended_with_a_new_supervisor(
    provider: LocalProvider, make_spec: MakeSpec, root: Path
) -> None:
    ref = await provider.create(make_spec(["sh", "-c", "echo kept > /workspace/work; exec sleep 600"]))
    await provider.exec(ref, ["sh", "-c", "until [ -s /workspace/work ]; do :; done"], timeout=SOON)
    await kill_supervisor(root, ref)

    results = await asyncio.gather(
        *(provider.exec(ref, ["cat", "/workspace/work"], timeout=SOON) for _ in range(4)), return_exceptions=True
    )

    assert [result.stdout for result in results if not isinstance(result, BaseException)] == [b"kept\n"] * 4
    report = await provider.inspect(ref, wait=SOON)
    assert (report.alive, report.reason) == (False, EndReason.UNKNOWN)
    assert [listed.ref async for listed in provider.list(owner="tests")] == [ref]


async def test_a_killed_bwrap_ends_the_sandbox_and_commands_still_run(
    provider: LocalProvider, make_spec: MakeSpec, root: Path
) -> None:
    ref = await provider.create(make_spec())
    init = int(state_of(root, ref)["init"].split()[0])
    os.kill(init, signal.SIGKILL)

    report = await provider.inspect(ref, wait=SOON)
    first = await provider.exec(ref, ["echo", "here"], timeout=SOON)
    second_init = processes.open_process(state_of(root, ref)["init"])
    assert second_init is not None
    kernel.send_signal(second_init, signal.SIGKILL)
    assert await asyncio.to_thread(processes.has_ended, second_init, wait_ms=10_000)
    os.close(second_init)
    second = await provider.exec(ref, ["echo", "here"], timeout=SOON)

    assert (report.reason, report.signal) == (EndReason.SIGNALLED, signal.SIGKILL)
    assert (first.stdout, second.stdout) == (b"here\n", b"here\n")


async def test_a_killed_control_group_is_reported_as_a_killed_sandbox(
    provider: LocalProvider, make_spec: MakeSpec, root: Path
) -> None:
    ref = await provider.create(make_spec(["sh", "-c", "sleep 600 & sleep 600"]))
    groups = Machine().groups_for(root / ref)
    for folder in list(groups.values())[:1]:
        for pid in Path(folder, "cgroup.procs").read_text().split():
            # The first to die may take the others with it.
            with contextlib.suppress(ProcessLookupError):
                os.kill(int(pid), signal.SIGKILL)
    if not groups:
        await kill_all(provider, ref)

    report = await provider.inspect(ref, wait=SOON)

    assert report.reason in (EndReason.SIGNALLED, EndReason.EXITED)
    assert (report.signal or report.exit_code) in (signal.SIGKILL, 128 + signal.SIGKILL)
    assert (await provider.exec(ref, ["echo", "here"], timeout=SOON)).stdout == b"here\n"


async def test_a_destroyed_sandbox_is_not_revived(provider: LocalProvider, make_spec: MakeSpec) -> None:
    ref = await provider.create(make_spec(["true"]))
    await provider.inspect(ref, wait=SOON)
    await provider.destroy(ref)

    with pytest.raises(SandboxGone):
        await provider.exec(ref, ["true"], timeout=SOON)


async def test_a_start_that_was_killed_before_the_sandbox_existed_runs_no_commands(
    provider: LocalProvider, root: Path
) -> None:
    (root / "omoios-half").mkdir(parents=True)

    with pytest.raises(ProviderError, match="never complete"):
        await provider.exec(SandboxRef("omoios-half"), ["true"], timeout=SOON)


async def test_a_descendant_killed_for_memory_is_reported_when_the_first_process_fails_after_it(
    provider: LocalProvider, make_spec: MakeSpec, root: Path
) -> None:
    hog = f"{sys.executable} -I -S -c 'x = bytearray(1 << 30)'"
    resources = Resources(64 << 20, 1, 16, 64 << 20)
    failed = await provider.create(make_spec(["sh", "-c", f"{hog}; exit 7"], resources=resources))
    recovered = await provider.create(make_spec(["sh", "-c", f"{hog}; exit 0"], resources=resources))

    reports = [await provider.inspect(ref, wait=SOON) for ref in (failed, recovered)]

    counted = bool(cgroups.detect())
    assert [report.reason for report in reports] == [
        EndReason.OUT_OF_MEMORY if counted else EndReason.EXITED,
        EndReason.EXITED,
    ]
    assert [report.exit_code for report in reports] == [7, 0]
    kills = json.loads((root / failed / "exit.json").read_text())["oom_kills"]
    assert kills >= 1 if counted else kills == 0


async def test_its_usage_is_reported_while_it_is_alive_and_afterwards(
    provider: LocalProvider, make_spec: MakeSpec, is_root: bool
) -> None:
    busy = "x = bytearray(60 << 20)\nfor i in range(0, len(x), 4096): x[i] = 1\n"
    busy += "import os, time\nopen('/workspace/f', 'wb').write(bytes(9 << 20)); os.sync()\n"
    busy += "sum(range(3_000_000)); open('/workspace/done', 'w'); time.sleep(600)"
    ref = await provider.create(make_spec([sys.executable, "-I", "-S", "-c", busy]))
    await provider.exec(ref, ["sh", "-c", "until [ -e /workspace/done ]; do sleep 0.01; done"], timeout=SOON)

    report = await provider.inspect(ref)
    while report.disk_bytes is None and not is_root:
        report = await provider.inspect(ref, wait=timedelta(milliseconds=200))

    assert report.memory_bytes is not None
    assert report.cpu_seconds is not None
    assert report.disk_bytes is not None
    assert 60 << 20 < report.memory_bytes <= 256 << 20
    assert 0.01 < report.cpu_seconds < 30
    assert 9 << 20 <= report.disk_bytes < 20 << 20
    assert report.pids == 1
    await kill_all(provider, ref)
    end = await provider.inspect(ref, wait=SOON)
    assert end.disk_bytes is not None
    assert end.disk_bytes >= 9 << 20
    if cgroups.detect():
        assert end.memory_bytes is not None
        assert end.memory_bytes >= 60 << 20
        assert end.cpu_seconds is not None
        assert end.cpu_seconds >= report.cpu_seconds
