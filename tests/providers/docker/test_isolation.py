"""What a hostile process inside a container can reach, beyond the attacks that are tested on all providers."""

import json
from collections.abc import Awaitable, Callable
from datetime import timedelta
from pathlib import Path

import docker
import pytest

from omoi_os.providers.base import EndReason, ExecResult, SandboxRef, SandboxSpec
from omoi_os.providers.docker.provider import DockerProvider

pytestmark = pytest.mark.timeout(600)

SOON = timedelta(seconds=30)

MakeSpec = Callable[..., SandboxSpec]
Probe = Callable[..., Awaitable[ExecResult]]


async def test_the_guest_can_be_neither_killed_nor_stopped_nor_inspected(
    provider: DockerProvider, make_spec: MakeSpec
) -> None:
    spec = make_spec(lifetime=timedelta(seconds=4))
    ref = await provider.create(spec)
    attack = """
import ctypes, os, signal
for number in (signal.SIGKILL, signal.SIGSTOP, signal.SIGTERM, signal.SIGINT, signal.SIGHUP): os.kill(1, number)
for path in ('environ', 'mem', 'fd/0', 'fd/1', 'cwd', 'root'):
    try: open(f'/proc/1/{path}', 'rb'); print('opened', path)
    except OSError: pass
print(open('/proc/1/stat').read().split(')')[1].split()[0])
"""
    seen = await provider.exec(ref, ["/opt/omoi/bin/python", "-I", "-c", attack], timeout=SOON)

    assert seen.stdout in (b"S\n", b"R\n"), seen
    assert (await provider.inspect(ref, wait=SOON)).reason is EndReason.LIFETIME


async def test_labels_and_command_lines_contain_no_secret_of_the_environment_or_command(
    provider: DockerProvider, make_spec: MakeSpec, engine: docker.DockerClient
) -> None:
    secret = "sbx_0123456789abcdef"
    ref = await provider.create(make_spec(["sh", "-c", f": {secret}; sleep 600"], env={"PATH": "/bin", "T": secret}))

    about = engine.containers.get(ref).attrs
    inside = await provider.exec(
        ref, ["sh", "-c", "cat /proc/1/cmdline /proc/1/environ /proc/self/mountinfo"], timeout=SOON
    )

    assert secret not in json.dumps([about["Config"]["Labels"], about["Config"]["Cmd"], about["Args"]])
    assert secret.encode() not in inside.stdout
    outer = Path(f"/proc/{about['State']['Pid']}/cmdline").read_bytes()
    assert secret.encode() not in outer


async def test_nothing_but_home_workspace_and_temporary_folders_can_be_written(probe: Probe) -> None:
    attempt = """
import sys
for path in sys.argv[1:]:
    try:
        open(path + '/x', 'w').close()
        print('wrote')
    except OSError: print('no')
"""
    closed = ["", "/etc", "/usr/local", "/opt/omoi", "/opt/omoi/site/omoi_os", "/run", "/run/omoi", "/home", "/var"]
    closed += ["/sys/fs/cgroup/memory", "/proc/sys/kernel", "/dev"]
    opened = ["/home/agent", "/workspace", "/tmp", "/var/tmp", "/dev/shm"]

    lines = (await probe(attempt, *closed, *opened)).stdout.decode().split()

    assert lines == ["no"] * len(closed) + ["wrote"] * len(opened)


async def test_a_command_cannot_answer_in_its_runners_place(provider: DockerProvider, sandbox: SandboxRef) -> None:
    forge = """
import os
for fd in range(3):
    try: os.open(f'/proc/{os.getppid()}/fd/{fd}', os.O_RDWR); print('opened', fd)
    except OSError as error: print(error.strerror)
os.write(1, b'\\x04\\x00\\x00\\x00\\x1b{"word": "exit", "code": 0}')
os._exit(3)
"""
    command = ["/opt/omoi/bin/python", "-I", "-u", "-c", forge]

    result = await provider.exec(sandbox, command, timeout=SOON)

    assert result.exit_code == 3
    assert result.stdout.count(b"Permission denied\n") == 3
