"""Attack 30: what isolates is missing, so nothing may run.

As a program: try to run something with a part of a provider, on a kernel with or without seccomp.
"""

import asyncio
import ctypes
import errno
import os
import subprocess
import sys
from datetime import timedelta
from pathlib import Path

import pytest

from omoi_os.errors import ProviderError
from omoi_os.protocol import paths
from omoi_os.providers.base import Resources, SandboxSpec
from omoi_os.providers.conformance import Bench, host
from omoi_os.providers.guest import kernel, launch
from omoi_os.providers.local.host import seccomp
from omoi_os.providers.local.host.provider import LocalProvider
from tests.attacks.walls import CALL_SOCKET

_INTERFACES = "import json, socket; print(json.dumps([name for _, name in socket.if_nameindex()]))"

#: Numbers of `prctl` and `seccomp`, by machine, and what the first is asked for when a filter is to be installed.
_FILTER_CALLS = {"x86_64": (157, 317), "aarch64": (167, 277)}
_PR_SET_SECCOMP, _PR_SET_NO_NEW_PRIVS = 22, 38


async def expect_closed_without_a_gateway(bench: Bench) -> None:
    """A missing gateway folder is refused; without the socket in it nothing can be reached."""
    with host.folder() as folder:
        with pytest.raises(ProviderError, match=r"gateway folder .* is not a folder"):
            await bench.make(gateway_folder=folder / "missing")
        ref = await bench.make(gateway_folder=folder)
        gateway_socket = f"{paths.GATEWAY_FOLDER}/{paths.GATEWAY_SOCKET}"
        assert await bench.ask(ref, CALL_SOCKET, gateway_socket) is False
        assert await bench.ask(ref, _INTERFACES) == ["lo"]
        with host.gateway_listener(folder / paths.GATEWAY_SOCKET):
            assert await bench.ask(ref, CALL_SOCKET, gateway_socket) is True


def tried(part: str, folder: Path, *, with_seccomp: bool) -> str:
    """Return the outcome of trying to run a command in a separate program."""
    command = [sys.executable, "-m", "tests.attacks.closed", part, str(folder), "with" if with_seccomp else "without"]
    root = Path(__file__).parents[2]
    return subprocess.run(command, cwd=root, check=True, capture_output=True, text=True, timeout=60).stdout.strip()


def _forbid_seccomp() -> None:
    """Be on a kernel without it, as far as this process and what it starts can tell."""
    prctl, direct = _FILTER_CALLS[os.uname().machine]
    refusal = seccomp._refuse(errno.EINVAL)
    program = seccomp._step(seccomp._LOAD, seccomp._NUMBER)
    program += seccomp._step(seccomp._EQUAL, direct, no=1) + refusal
    asked = seccomp._step(seccomp._EQUAL, _PR_SET_SECCOMP, no=1) + refusal
    program += seccomp._inspect(prctl, seccomp._FIRST_ARGUMENT, asked)
    assert ctypes.CDLL(None).prctl(_PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) == 0
    kernel.install_filter(program + seccomp._step(seccomp._RETURN, seccomp._ALLOW))


async def _make_local(folder: Path) -> None:
    provider = LocalProvider(folder / "sandboxes")
    resources = Resources(256 << 20, cpus=1, pids=64, disk_bytes=64 << 20)
    spec = SandboxSpec("omoios-closed", "tests", ["sleep", "600"], {}, resources, timedelta(seconds=60))
    ref = await provider.create(spec)
    await provider.destroy(ref)


def _launch_in_container(folder: Path) -> None:
    """Start a program as the guest in a container does."""
    argv, env = ["touch", str(folder / "ran")], {"PATH": "/usr/bin:/bin"}
    with Path(os.devnull).open("r+") as nothing:
        stdio = [nothing.fileno()] * 3
        program = launch.Program(argv, env=env, cwd="/", stdio=stdio, seccomp=seccomp.build_filter())
        os.waitpid(launch.start(program), 0)


def main() -> None:
    """Say what came of it."""
    part, folder, kind = sys.argv[1:]
    if kind == "without":
        _forbid_seccomp()
    try:
        if part == "local":
            asyncio.run(_make_local(Path(folder)))
        else:
            _launch_in_container(Path(folder))
    except (ProviderError, launch.LaunchError) as error:
        print(f"refused: {error}")
    else:
        print("ran")


if __name__ == "__main__":
    main()
