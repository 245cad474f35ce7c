"""The life of a local sandbox: creation, use, recovery, every kind of end, removal."""

import asyncio
import json
import os
import secrets
import signal
import socket
import sys
from collections.abc import Awaitable, Callable
from datetime import timedelta
from pathlib import Path

import pytest

from omoi_os.config import load_settings
from omoi_os.errors import ProviderError, SandboxGone
from omoi_os.protocol import paths
from omoi_os.providers.base import EndReason, ExecResult, Resources, SandboxRef, SandboxReport, SandboxSpec
from omoi_os.providers.local.host import control
from omoi_os.providers.local.host.machine import Machine
from omoi_os.providers.local.host.provider import LocalProvider
from omoi_os.providers.local.supervisor import cgroups, processes
from omoi_os.providers.registry import make_provider

SOON = timedelta(seconds=30)

MakeSpec = Callable[..., SandboxSpec]
Probe = Callable[..., Awaitable[ExecResult]]

LAUNCHER = """
import asyncio, sys
from datetime import timedelta
from pathlib import Path
from omoi_os.providers.base import Resources, SandboxSpec
from omoi_os.providers.local.host.provider import LocalProvider

async def main():
    spec = SandboxSpec(sys.argv[2], "tests", ["sleep", "600"], {"PATH": "/usr/bin:/bin", "TOKEN": "its-own"},
                       Resources(256 << 20, 1, 64, 64 << 20), timedelta(seconds=120))
    await LocalProvider(Path(sys.argv[1])).create(spec)
    print("made", flush=True)
    await asyncio.Event().wait()

asyncio.run(main())
"""


def supervisor_of(root: Path, ref: str) -> int:
    """Return the pid of a sandbox's supervisor."""
    state = json.loads((root / ref / "state.json").read_text())
    return int(state["supervisor"].split()[0])


async def test_the_settings_choose_the_local_provider() -> None:
    settings = load_settings(environ={}, data_dir=Path("/nonexistent/omoi"))

    provider = make_provider(settings)

    assert provider.name == "local"
    assert [listed.ref async for listed in provider.list(owner="tests")] == []


@pytest.mark.parametrize("code", [0, 3, 137])
async def test_the_exit_code_of_the_first_process_is_reported(
    provider: LocalProvider, make_spec: MakeSpec, code: int
) -> None:
    ref = await provider.create(make_spec(["sh", "-c", f"exit {code}"]))

    report = await provider.inspect(ref, wait=SOON)

    assert (report.alive, report.reason, report.exit_code, report.signal) == (False, EndReason.EXITED, code, None)


@pytest.mark.parametrize("number", [signal.SIGTERM, signal.SIGKILL])
async def test_the_signal_that_killed_the_first_process_is_reported(
    provider: LocalProvider, make_spec: MakeSpec, number: int
) -> None:
    ref = await provider.create(make_spec(["sh", "-c", f"kill -{number} $$"]))

    report = await provider.inspect(ref, wait=SOON)

    assert (report.alive, report.reason, report.exit_code, report.signal) == (False, EndReason.SIGNALLED, None, number)


async def test_output_of_the_first_process_can_be_read_after_its_end(
    provider: LocalProvider, make_spec: MakeSpec
) -> None:
    ref = await provider.create(make_spec(["sh", "-c", "echo out; echo err >&2"]))
    await provider.inspect(ref, wait=SOON)

    assert await provider.read_output(ref) == b"out\nerr\n"


async def test_a_first_process_that_cannot_start_fails_the_creation_and_leaves_nothing(
    provider: LocalProvider, make_spec: MakeSpec, root: Path
) -> None:
    spec = make_spec(["/no/such/program"])
    groups = Machine().groups_for(root / spec.id)

    with pytest.raises(ProviderError, match="/no/such/program"):
        await provider.create(spec)

    assert list(root.iterdir()) == []
    assert not any(Path(group).exists() for group in groups.values())


@pytest.mark.parametrize("turns", [1, 3, 300])
async def test_a_cancelled_creation_leaves_nothing(
    provider: LocalProvider, make_spec: MakeSpec, root: Path, turns: int
) -> None:
    creation = asyncio.create_task(provider.create(make_spec()))
    for _ in range(turns):
        await asyncio.sleep(0)
    creation.cancel()

    with pytest.raises(asyncio.CancelledError):
        await creation

    assert not root.exists() or list(root.iterdir()) == []


async def test_one_id_is_never_created_twice(provider: LocalProvider, make_spec: MakeSpec) -> None:
    spec = make_spec()
    results = await asyncio.gather(*(provider.create(spec) for _ in range(4)), return_exceptions=True)

    assert [result for result in results if not isinstance(result, ProviderError)] == [spec.id]
    assert (await provider.inspect(SandboxRef(spec.id))).alive


@pytest.mark.parametrize("name", ["../up", "a/b", "", ".", "UPPER", "x" * 64])
async def test_an_id_that_could_lead_elsewhere_is_refused(
    provider: LocalProvider, make_spec: MakeSpec, name: str
) -> None:
    with pytest.raises(ProviderError, match="id"):
        await provider.create(make_spec(id=name))


async def test_a_sandbox_that_does_not_exist_is_gone(provider: LocalProvider) -> None:
    ref = SandboxRef("omoios-never-made")

    with pytest.raises(SandboxGone):
        await provider.inspect(ref)
    with pytest.raises(SandboxGone):
        await provider.exec(ref, ["true"], timeout=SOON)
    with pytest.raises(SandboxGone):
        await provider.read_file(ref, f"{paths.HOME}/x")
    with pytest.raises(SandboxGone):
        await provider.write_file(ref, f"{paths.HOME}/x", b"")
    await provider.destroy(ref)


async def test_only_its_owner_lists_a_sandbox_alive_or_ended(provider: LocalProvider, make_spec: MakeSpec) -> None:
    alive = await provider.create(make_spec(owner="one"))
    ended = await provider.create(make_spec(["true"], owner="one"))
    await provider.inspect(ended, wait=SOON)
    await provider.create(make_spec(owner="other"))

    assert {listed.ref async for listed in provider.list(owner="one")} == {alive, ended}


async def test_a_start_that_was_killed_in_the_middle_is_listed_and_can_be_destroyed(
    provider: LocalProvider, root: Path
) -> None:
    (root / "omoios-half").mkdir(parents=True)

    assert [listed.ref async for listed in provider.list(owner="anyone")] == ["omoios-half"]
    assert await provider.inspect(SandboxRef("omoios-half")) == SandboxReport(False, EndReason.UNKNOWN)
    await provider.destroy(SandboxRef("omoios-half"))
    assert list(root.iterdir()) == []


async def test_inspecting_with_a_wait_answers_alive_when_the_wait_is_over(
    provider: LocalProvider, sandbox: SandboxRef
) -> None:
    report = await provider.inspect(sandbox, wait=timedelta(milliseconds=50))

    assert report.alive
    assert report.pids == 1


async def test_the_lifetime_ends_a_sandbox(provider: LocalProvider, make_spec: MakeSpec) -> None:
    ref = await provider.create(make_spec(lifetime=timedelta(milliseconds=200)))

    report = await provider.inspect(ref, wait=SOON)

    assert (report.alive, report.reason) == (False, EndReason.LIFETIME)


async def test_a_stopped_sandbox_reports_that_it_was_destroyed(
    provider: LocalProvider, sandbox: SandboxRef, root: Path
) -> None:
    control.stop(root / sandbox)

    report = await provider.inspect(sandbox, wait=SOON)

    assert report.reason is EndReason.DESTROYED


async def test_too_much_memory_ends_a_sandbox_with_that_reason(provider: LocalProvider, make_spec: MakeSpec) -> None:
    hog = [sys.executable, "-I", "-S", "-c", "x = bytearray(4 << 30)\nfor i in range(0, 4 << 30, 4096): x[i] = 1"]
    ref = await provider.create(make_spec(hog, resources=Resources(64 << 20, 1, 16, 64 << 20)))

    report = await provider.inspect(ref, wait=SOON)

    if cgroups.detect():
        assert (report.reason, report.signal) == (EndReason.OUT_OF_MEMORY, signal.SIGKILL)
    else:
        assert (report.reason, report.exit_code) == (EndReason.EXITED, 1)


async def test_a_fork_bomb_is_capped_and_commands_still_run_beside_it(
    provider: LocalProvider, make_spec: MakeSpec
) -> None:
    bomb = """
import os, time
first = os.getpid()
try:
    for _ in range(200):
        if not os.fork():
            break
except OSError:
    pass
if os.getpid() == first:
    open('/home/agent/all-forked', 'w').close()
time.sleep(600)
"""
    done = "os.path.exists('/home/agent/all-forked')"
    count = f"import os; print(sum(name.isdigit() for name in os.listdir('/proc')) if {done} else 0)"
    ref = await provider.create(make_spec([sys.executable, "-I", "-S", "-c", bomb]))
    command = [sys.executable, "-I", "-S", "-c", count]
    counted = 0
    while counted == 0:
        counted = int((await provider.exec(ref, command, timeout=SOON)).stdout)

    # As an ordinary user without control groups the sandbox's user namespace counts its init as well.
    assert 64 - 1 <= counted <= 64 + 4
    assert "pids" not in str(provider.limits_warning)


async def test_files_are_written_read_and_owned_by_the_sandbox(
    provider: LocalProvider, sandbox: SandboxRef, probe: Probe
) -> None:
    await provider.write_file(sandbox, f"{paths.HOME}/a/b/c.txt", b"\x00bytes")
    code = "import os; p = '/home/agent/a/b/c.txt'; open(p, 'ab').write(b'!'); print(os.stat(p).st_uid == os.getuid())"
    inside = await probe(code)

    assert inside.stdout == b"True\n", inside.stderr
    assert await provider.read_file(sandbox, f"{paths.HOME}/a/b/c.txt") == b"\x00bytes!"
    with pytest.raises(FileNotFoundError):
        await provider.read_file(sandbox, f"{paths.WORKSPACE}/missing")


async def test_files_can_be_read_after_the_end(provider: LocalProvider, make_spec: MakeSpec) -> None:
    ref = await provider.create(make_spec(["sh", "-c", "echo kept > /workspace/result"]))
    await provider.inspect(ref, wait=SOON)

    assert await provider.read_file(ref, f"{paths.WORKSPACE}/result") == b"kept\n"


async def test_a_sandbox_outlives_its_killed_starter_and_is_found_again(root: Path, provider: LocalProvider) -> None:
    canary = secrets.token_hex(16)
    ref = SandboxRef("omoios-outlives")
    environ = {**os.environ, "ANTHROPIC_API_KEY": canary}
    starter = await asyncio.create_subprocess_exec(
        sys.executable, "-c", LAUNCHER, str(root), ref, stdout=asyncio.subprocess.PIPE, env=environ
    )
    assert starter.stdout is not None
    line = await starter.stdout.readline()
    held = Path(f"/proc/{starter.pid}/environ").read_bytes()
    starter.kill()
    # Its end is seen although the sandbox continues: nothing of the sandbox holds the starter's output open.
    rest = await starter.stdout.read()
    await starter.wait()
    assert (line, rest) == (b"made\n", b"")

    assert canary.encode() in held
    assert [listed.ref async for listed in provider.list(owner="tests")] == [ref]
    assert (await provider.inspect(ref)).alive
    search = "cat /proc/[0-9]*/environ /proc/[0-9]*/cmdline /proc/self/mountinfo; env"
    seen = await provider.exec(ref, ["sh", "-c", f"{search} 2>/dev/null"], timeout=SOON)
    assert b"TOKEN=its-own" in seen.stdout
    assert canary.encode() not in seen.stdout
    keeper = Path(f"/proc/{supervisor_of(root, ref)}")
    assert canary.encode() not in (keeper / "cmdline").read_bytes()
    if os.geteuid() == 0:
        assert canary.encode() not in (keeper / "environ").read_bytes()


async def test_everything_dies_with_a_killed_supervisor_and_can_still_be_destroyed(
    provider: LocalProvider, sandbox: SandboxRef, root: Path
) -> None:
    groups = Machine().groups_for(root / sandbox)
    init = json.loads((root / sandbox / "state.json").read_text())["init"]
    inside = processes.open_process(init)
    assert inside is not None
    os.kill(supervisor_of(root, sandbox), signal.SIGKILL)

    report = await provider.inspect(sandbox, wait=SOON)

    assert report == SandboxReport(alive=False, reason=EndReason.UNKNOWN)
    assert await asyncio.to_thread(processes.has_ended, inside, wait_ms=10_000)
    os.close(inside)
    await provider.destroy(sandbox)
    assert list(root.iterdir()) == []
    assert not any(Path(group).exists() for group in groups.values())


async def test_destroying_removes_daemons_groups_and_files_and_may_be_repeated(
    provider: LocalProvider, make_spec: MakeSpec, root: Path
) -> None:
    marker = str(secrets.randbelow(10**9) + 10**9)
    deep = "import os\nfor _ in range(3000): os.mkdir('d'); os.chdir('d')\n"
    daemon = f"setsid sh -c 'trap \"\" TERM; sleep {marker} & wait' & mkdir closed && touch closed/x && chmod 0 closed;"
    ref = await provider.create(make_spec(["sh", "-c", f"{daemon} echo; exec sleep 600"]))
    await provider.exec(ref, [sys.executable, "-I", "-S", "-c", deep], timeout=SOON)
    busy = asyncio.create_task(provider.exec(ref, ["sleep", "600"], timeout=timedelta(seconds=600)))
    groups = Machine().groups_for(root / ref)
    await provider.exec(ref, ["true"], timeout=SOON)

    await asyncio.gather(provider.destroy(ref), provider.destroy(ref))
    await provider.destroy(ref)

    with pytest.raises(ProviderError):
        await busy
    assert list(root.iterdir()) == []
    assert not any(Path(group).exists() for group in groups.values())
    lines = [path.read_bytes() for path in Path("/proc").glob("[0-9]*/cmdline") if path.exists()]
    assert not [line for line in lines if marker.encode() in line]


async def test_a_sandbox_that_ends_leaves_no_control_group(
    provider: LocalProvider, make_spec: MakeSpec, root: Path
) -> None:
    ref = await provider.create(make_spec(["true"]))
    await provider.inspect(ref, wait=SOON)

    assert not any(Path(group).exists() for group in Machine().groups_for(root / ref).values())


async def test_the_gateway_socket_is_reached_and_reached_again_after_its_listener_was_restarted(
    provider: LocalProvider, make_spec: MakeSpec, tmp_path: Path
) -> None:
    gateway_socket = tmp_path / "gateway_socket"
    gateway_socket.mkdir(mode=0o755)
    ref = await provider.create(make_spec(gateway_folder=gateway_socket))
    ask = "import socket; s = socket.socket(1); s.connect('/run/omoi/gateway.sock'); print(s.recv(9).decode())"
    write = "open('/run/omoi/x', 'w')"

    for word in (b"first", b"second"):
        with socket.socket(socket.AF_UNIX) as listener:
            listener.bind(os.fspath(gateway_socket / paths.GATEWAY_SOCKET))
            (gateway_socket / paths.GATEWAY_SOCKET).chmod(0o666)
            listener.listen()
            listener.setblocking(False)
            asking = asyncio.create_task(provider.exec(ref, [sys.executable, "-I", "-c", ask], timeout=SOON))
            connection, _ = await asyncio.get_running_loop().sock_accept(listener)
            with connection:
                connection.send(word)
                assert (await asking).stdout == word + b"\n"
        (gateway_socket / paths.GATEWAY_SOCKET).unlink()
    refused = await provider.exec(ref, [sys.executable, "-I", "-c", write], timeout=SOON)
    assert b"Read-only" in refused.stderr


async def test_a_gateway_folder_that_the_sandbox_cannot_enter_is_refused_at_once(
    provider: LocalProvider, make_spec: MakeSpec, tmp_path: Path
) -> None:
    with pytest.raises(ProviderError, match="not a folder"):
        await provider.create(make_spec(gateway_folder=tmp_path / "missing"))


async def test_many_sandboxes_start_at_once_each_with_a_different_uid(
    provider: LocalProvider, make_spec: MakeSpec, root: Path, is_root: bool
) -> None:
    refs = await asyncio.gather(*(provider.create(make_spec()) for _ in range(6)))

    uids = {(root / ref / "files").stat().st_uid for ref in refs}
    assert len(uids) == (6 if is_root else 1)
    assert all([(await provider.inspect(ref)).alive for ref in refs])
