"""What a hostile process inside a local sandbox can reach, beyond the attacks that are tested on all providers."""

import asyncio
import os
import subprocess
import sys
from collections.abc import Awaitable, Callable
from datetime import timedelta
from pathlib import Path

import pytest

from omoi_os.errors import ProviderError
from omoi_os.protocol import paths
from omoi_os.providers.base import ExecResult, SandboxRef, SandboxSpec
from omoi_os.providers.local.host.provider import LocalProvider

SOON = timedelta(seconds=30)

MakeSpec = Callable[..., SandboxSpec]
Probe = Callable[..., Awaitable[ExecResult]]

TRY_TO_READ = """
import sys
for path in sys.argv[1:]:
    try:
        open(path, 'rb').read(1)
        print('read', path)
    except OSError as error:
        print('no', path, error)
"""
TRY_TO_WRITE = TRY_TO_READ.replace("'rb').read(1)", "'ab').close()").replace("'read'", "'wrote'")


def outside(code: str, *arguments: str) -> bytes:
    """Run the probe on this machine itself."""
    command = [sys.executable, "-I", "-S", "-c", code, *arguments]
    return subprocess.run(command, capture_output=True, check=False, timeout=30).stdout


async def test_the_hosts_files_and_other_sandboxes_cannot_be_read(
    provider: LocalProvider, make_spec: MakeSpec, probe: Probe, root: Path, tmp_path: Path
) -> None:
    other = await provider.create(make_spec())
    await provider.write_file(other, f"{paths.HOME}/secret", b"secret")
    (tmp_path / "data").write_text("secret")
    hidden = [
        str(root / other / "spec.json"),
        str(root / other / "files" / "home" / "secret"),
        str(tmp_path / "data"),
        str(Path.home() / ".profile"),
        "/etc/hostname",
    ]

    inside = (await probe(TRY_TO_READ, *hidden, "/etc/shadow", "/etc/passwd")).stdout.decode().splitlines()

    assert [line.split()[0] for line in inside] == ["no"] * 6 + ["read"]
    seen = outside(TRY_TO_READ, hidden[0], hidden[2], hidden[4]).decode().splitlines()
    assert [line.split()[0] for line in seen] == ["read"] * 3
    names = (await probe("print(open('/etc/passwd').read())")).stdout.decode()
    assert [line.split(":")[0] for line in names.split()] == ["root", "agent", "nobody"]


async def test_only_home_workspace_and_temporary_folders_can_be_written(probe: Probe) -> None:
    closed = ["/x", "/etc/x", "/usr/x", "/usr/local/x", "/dev/x", "/run/x", "/home/x", "/var/x", "/proc/x"]
    closed += [f"{sys.prefix}/x", f"{sys.base_prefix}/x", "/proc/sys/kernel/hostname", "/proc/sysrq-trigger"]
    opened = ["/home/agent/x", "/workspace/x", "/tmp/x", "/var/tmp/x", "/dev/shm/x", "/dev/null"]

    lines = (await probe(TRY_TO_WRITE, *closed, *opened)).stdout.decode().splitlines()

    assert [line.split()[0] for line in lines] == ["no"] * len(closed) + ["wrote"] * len(opened), lines


async def test_no_capability_is_left_and_none_can_be_gained(provider: LocalProvider, make_spec: MakeSpec) -> None:
    ref = await provider.create(make_spec(["sh", "-c", "cat /proc/self/status > /workspace/first; exec sleep 600"]))
    wait = "until grep -q Seccomp_filters /workspace/first; do :; done; cat /workspace/first /proc/self/status"
    both = await provider.exec(ref, ["sh", "-c", f"{wait}; id -u; id -G"], timeout=SOON)

    lines = both.stdout.decode().split("\n")
    capabilities = [line.split()[1] for line in lines if line.startswith("Cap")]
    assert capabilities == ["0" * 16] * 10
    assert [line.split()[1] for line in lines if line.startswith("NoNewPrivs")] == ["1", "1"]
    assert [line.split()[1] for line in lines if line.startswith("Seccomp:")] == ["2", "2"]
    assert lines[-3] != "0"
    if os.geteuid() == 0:
        assert lines[-2] == lines[-3]


async def test_no_process_of_the_host_can_be_seen_or_signalled(probe: Probe) -> None:
    look = "import os; print(max(int(n) for n in os.listdir('/proc') if n.isdigit()) < 100, os.uname().nodename)"

    assert (await probe(look)).stdout == b"True sandbox\n"


async def test_the_supervisor_cannot_be_inspected_by_the_sandbox(probe: Probe, is_root: bool) -> None:
    kill = "import os\ntry:\n os.kill(2, 9)\n print('killed')\nexcept PermissionError:\n print('refused')"

    if is_root:
        assert (await probe(kill)).stdout == b"refused\n"
    assert b"bwrap --args" in (await probe("print(open('/proc/1/cmdline').read().replace(chr(0), ' '))")).stdout


async def test_links_planted_inside_are_not_followed(
    provider: LocalProvider, sandbox: SandboxRef, tmp_path: Path
) -> None:
    target = tmp_path / "outside"
    target.mkdir(mode=0o777)
    (target / "file").write_text("host")
    plant = f"""
import os
os.symlink('{target}', '/workspace/folder'); os.symlink('{target}/file', '/workspace/file')
os.symlink('/etc/shadow', '/home/agent/shadow'); os.mkfifo('/workspace/pipe'); os.mkdir('/workspace/real')
"""
    command = [sys.executable, "-I", "-S", "-c", plant]
    assert (await provider.exec(sandbox, command, timeout=SOON)).exit_code == 0

    for path in (
        "/workspace/folder/file",
        "/workspace/file",
        "/home/agent/shadow",
        "/workspace/pipe",
        "/workspace/real",
    ):
        with pytest.raises(ProviderError):
            await asyncio.wait_for(provider.read_file(sandbox, path), 10)
    with pytest.raises(ProviderError):
        await provider.write_file(sandbox, "/workspace/folder/new", b"x")
    await provider.write_file(sandbox, "/workspace/file", b"replaced")

    assert sorted(path.name for path in target.iterdir()) == ["file"]
    assert (target / "file").read_text() == "host"
    assert await provider.read_file(sandbox, "/workspace/file") == b"replaced"


async def test_device_files_and_setuid_programs_have_no_effect(probe: Probe) -> None:
    look = """
for word in ('nosuid', 'nodev'):
    for path in ('/workspace', '/home/agent', '/tmp'):
        line = next(line for line in open('/proc/self/mounts') if line.split()[1] == path)
        print(word in line.split()[3].split(','))
"""
    assert (await probe(look)).stdout.split() == [b"True"] * 6


@pytest.mark.parametrize(
    "path",
    [
        "/etc/passwd",
        "/workspace/../etc/passwd",
        "/workspace",
        "/workspace/",
        "relative",
        "/workspacex/a",
        "/home/agent/a\0b",
    ],
)
async def test_paths_outside_home_and_workspace_are_refused(
    provider: LocalProvider, sandbox: SandboxRef, path: str
) -> None:
    with pytest.raises(ProviderError):
        await provider.read_file(sandbox, path)
    with pytest.raises(ProviderError):
        await provider.write_file(sandbox, path, b"x")
