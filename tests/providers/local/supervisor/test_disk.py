"""The limit on a local sandbox's disk, by a separate image and by watching."""

import asyncio
import json
import os
import signal
import sys
from collections.abc import Callable
from datetime import timedelta
from pathlib import Path

import pytest

from omoi_os.providers.base import EndReason, Resources, SandboxRef, SandboxSpec
from omoi_os.providers.local.host import disk_template as template
from omoi_os.providers.local.host.machine import Machine
from omoi_os.providers.local.host.provider import LocalProvider
from omoi_os.providers.local.supervisor import disk, processes

SOON = timedelta(seconds=60)
MEBIBYTE = 1 << 20

MakeSpec = Callable[..., SandboxSpec]

FILL = """
import os, sys, time
where, then = sys.argv[1:]
try:
    with open(f'{where}/fill', 'wb', buffering=0) as file:
        for _ in range(400):
            file.write(os.urandom(1 << 20))
except OSError as error:
    print(error.errno, flush=True)
if then == 'clean':
    os.unlink(f'{where}/fill')
    then = 'wait'
if then == 'wait':
    open('/tmp/done', 'w')
    time.sleep(600)
sys.exit(1)
"""
FILES = """
import os, sys, time
count = 0
try:
    while count < 20000:
        open(f'/workspace/{count}', 'w').close()
        count += 1
except OSError as error:
    print(error.errno)
print(count, flush=True)
open('/tmp/done', 'w')
time.sleep(600)
"""
HIDE = """
import os, time
os.mkdir('/home/agent/closed')
with open('/home/agent/closed/fill', 'wb') as file:
    for _ in range(100): file.write(os.urandom(1 << 20))
os.chmod('/home/agent/closed', 0)
time.sleep(600)
"""
KINDS = ["image", "watched"] if template.works() else ["watched"]

DONE = ["sh", "-c", "until [ -e /tmp/done ]; do sleep 0.02; done"]


@pytest.fixture(params=KINDS)
def kind(request: pytest.FixtureRequest, provider: LocalProvider) -> str:
    """How the provider limits disks in this test. Every machine can watch."""
    if request.param == "watched":
        provider._machine.has_images = False
    return str(request.param)


def python(code: str, *arguments: str) -> list[str]:
    return [sys.executable, "-I", "-S", "-c", code, *arguments]


def small(mebibytes: int = 32) -> Resources:
    return Resources(256 * MEBIBYTE, 1, 64, mebibytes * MEBIBYTE)


@pytest.mark.parametrize("where", ["/home/agent", "/workspace"])
async def test_a_disk_that_stays_full_ends_the_sandbox_with_that_reason(
    provider: LocalProvider, make_spec: MakeSpec, kind: str, where: str
) -> None:
    ref = await provider.create(make_spec(python(FILL, where, "wait"), resources=small()))

    report = await provider.inspect(ref, wait=SOON)

    assert (report.alive, report.reason) == (False, EndReason.DISK_FULL)
    assert report.disk_bytes is not None
    assert report.disk_bytes >= 30 * MEBIBYTE
    if kind == "image":
        assert report.disk_bytes <= 36 * MEBIBYTE
        assert await provider.read_output(ref) == b"28\n"


async def test_work_can_be_saved_in_a_sandbox_that_ended_for_its_disk(
    provider: LocalProvider, make_spec: MakeSpec, kind: str
) -> None:
    script = "git init -q /workspace/r && cd /workspace/r && head -c 2000000 /dev/urandom > work && exec"
    command = ["sh", "-c", f'{script} "$@"', "sh", *python(FILL, "/home/agent", "wait")]
    env = {"PATH": "/usr/bin:/bin", "HOME": "/home/agent"}
    ref = await provider.create(make_spec(command, resources=small(), env=env))
    report = await provider.inspect(ref, wait=SOON)

    save = "git add -A && git -c user.name=a -c user.email=a@b commit -qm wip && git cat-file -s HEAD:work"
    saved = await provider.exec(ref, ["sh", "-c", save], cwd="/workspace/r", timeout=SOON)

    assert report.reason is EndReason.DISK_FULL
    assert (saved.exit_code, saved.stdout) == (0, b"2000000\n"), saved.stderr


async def test_running_out_of_inodes_ends_the_sandbox(provider: LocalProvider, make_spec: MakeSpec, kind: str) -> None:
    ref = await provider.create(make_spec(python(FILES), resources=small()))

    report = await provider.inspect(ref, wait=SOON)

    assert report.reason is EndReason.DISK_FULL
    if kind == "image":
        number, count = (await provider.read_output(ref)).split()
        assert number == b"28"
        assert 1500 < int(count) < 2500


async def test_files_in_unreadable_folders_count(provider: LocalProvider, make_spec: MakeSpec) -> None:
    provider._machine.has_images = False
    ref = await provider.create(make_spec(python(HIDE), resources=small()))

    assert (await provider.inspect(ref, wait=SOON)).reason is EndReason.DISK_FULL


async def test_a_sparse_file_of_a_hundred_gigabytes_cannot_be_created(
    provider: LocalProvider, make_spec: MakeSpec, kind: str
) -> None:
    ref = await provider.create(make_spec(resources=small()))

    grown = await provider.exec(ref, ["truncate", "-s", "100G", "/workspace/sparse"], timeout=SOON)

    assert grown.exit_code != 0
    assert (await provider.inspect(ref)).alive


async def test_files_can_use_the_whole_disk_limit(provider: LocalProvider, make_spec: MakeSpec, kind: str) -> None:
    ref = await provider.create(make_spec(resources=small(32)))
    write = "head -c 15500000 /dev/urandom > /workspace/a && head -c 15500000 /dev/urandom > /home/agent/b"

    assert (await provider.exec(ref, ["sh", "-c", write], timeout=SOON)).exit_code == 0
    assert (await provider.inspect(ref)).alive


if "image" in KINDS:

    async def test_a_first_process_that_fails_on_a_full_disk_is_reported_as_disk_full(
        provider: LocalProvider, make_spec: MakeSpec
    ) -> None:
        ref = await provider.create(make_spec(python(FILL, "/workspace", "exit"), resources=small()))

        report = await provider.inspect(ref, wait=SOON)

        assert (report.reason, report.exit_code) == (EndReason.DISK_FULL, 1)

    async def test_a_disk_that_was_full_and_was_cleaned_up_ends_nothing(
        provider: LocalProvider, make_spec: MakeSpec
    ) -> None:
        ref = await provider.create(make_spec(python(FILL, "/workspace", "clean"), resources=small()))
        await provider.exec(ref, DONE, timeout=SOON)

        looks = timedelta(seconds=disk.LOOK_SECONDS * (disk.FULL_LOOKS + 1))
        assert (await provider.inspect(ref, wait=looks)).alive

    async def test_an_image_is_mounted_only_for_the_sandbox_and_removed_however_it_ends(
        provider: LocalProvider, make_spec: MakeSpec, root: Path
    ) -> None:
        refs = [await provider.create(make_spec()) for _ in range(3)]
        await provider.write_file(refs[0], "/workspace/x", b"inside")
        attached = attached_images(root)
        state = json.loads((root / refs[0] / "state.json").read_text())
        assert str(root) not in Path("/proc/mounts").read_text()
        assert len(attached) == 3
        assert list((root / refs[0] / "files").iterdir()) == []

        await kill(state["supervisor"])
        await kill_init(root, refs[1])
        await provider.destroy(refs[2])
        await asyncio.gather(*(provider.inspect(ref, wait=SOON) for ref in refs[:2]))

        # Mounting the first one again waits until its last mount is gone.
        assert await provider.read_file(refs[0], "/workspace/x") == b"inside"
        for ref in refs[:2]:
            await provider.destroy(ref)
        await asyncio.to_thread(wait_until_detached, root)


def attached_images(root: Path) -> list[str]:
    """The files below this folder that loop devices use."""
    found = []
    for path in Path("/sys/block").glob("loop*/loop/backing_file"):
        try:
            found.append(path.read_text())
        except OSError:
            continue
    return [name for name in found if name.startswith(str(root))]


def wait_until_detached(root: Path) -> None:
    """Wait: a loop device releases a removed file shortly after its last user, and only the kernel's list shows it."""
    for _ in range(10_000):
        if not attached_images(root):
            return
        os.sched_yield()
    assert attached_images(root) == []


async def kill(identity: str) -> None:
    pidfd = processes.open_process(identity)
    assert pidfd is not None
    os.kill(int(identity.split()[0]), signal.SIGKILL)
    assert await asyncio.to_thread(processes.has_ended, pidfd, wait_ms=10_000)
    os.close(pidfd)


async def kill_init(root: Path, ref: SandboxRef) -> None:
    await kill(json.loads((root / ref / "state.json").read_text())["init"])


def test_a_disk_that_is_only_measured_is_reported() -> None:
    machine = Machine()

    warning = machine.limits_warning or ""

    assert ("only watched" in warning) is not machine.has_images
    machine.has_images = False
    assert "only watched" in str(machine.limits_warning)
