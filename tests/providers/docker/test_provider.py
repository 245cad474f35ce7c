"""The life of a container as a sandbox: creation, recovery, every kind of end, removal."""

import asyncio
import secrets
import sys
from collections.abc import Awaitable, Callable
from datetime import timedelta
from pathlib import Path

import docker
import pytest

from omoi_os.config import load_settings
from omoi_os.errors import ProviderError, SandboxGone, SetupError
from omoi_os.protocol import paths
from omoi_os.providers.base import EndReason, ExecResult, Resources, SandboxRef, SandboxSpec
from omoi_os.providers.docker.provider import DockerProvider
from omoi_os.providers.image import IMAGE_RUNTIME
from omoi_os.providers.registry import make_provider as make_chosen_provider

pytestmark = pytest.mark.timeout(600)

SOON = timedelta(seconds=30)
MEBIBYTE = 1024 * 1024

MakeSpec = Callable[..., SandboxSpec]
MakeProvider = Callable[[], DockerProvider]
Probe = Callable[..., Awaitable[ExecResult]]

LAUNCHER = """
import asyncio, sys
from datetime import timedelta
from omoi_os.providers.base import Resources, SandboxSpec
from omoi_os.providers.docker.provider import DockerProvider

async def main():
    host, image, owner, name = sys.argv[1:]
    spec = SandboxSpec(name, owner, ["sleep", "600"], {"PATH": "/usr/bin:/bin", "TOKEN": "its-own"},
                       Resources(256 << 20, 1, 64, 256 << 20), timedelta(seconds=120))
    await DockerProvider(host=host, image=image, site=lambda: "here").create(spec)
    print("made", flush=True)
    await asyncio.Event().wait()

asyncio.run(main())
"""


def python(code: str, *arguments: str) -> list[str]:
    """The command that runs Python code inside."""
    return [IMAGE_RUNTIME.python, "-I", "-S", "-c", code, *arguments]


async def test_the_settings_choose_the_docker_provider(
    host: str, image: str, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    monkeypatch.setenv("DOCKER_HOST", host)
    environ = {"SANDBOX_PROVIDER": "docker", "SANDBOX_IMAGE": image}
    settings = load_settings(environ=environ, data_dir=Path("/nonexistent/omoi"))

    provider = make_chosen_provider(settings)

    assert (provider.name, provider.has_gateway_socket, provider.runtime) == ("docker", True, IMAGE_RUNTIME)
    assert [listed.ref async for listed in provider.list(owner="nobody")] == []


async def test_a_missing_image_is_reported_with_the_remedy(host: str, make_spec: MakeSpec, owner: str) -> None:
    provider = DockerProvider(image="omoi-no-such-image", site=lambda: "here", host=host)

    with pytest.raises(ProviderError, match="make image"):
        await provider.create(make_spec())
    with pytest.raises(SetupError, match="make image"):
        provider.check()
    assert [listed.ref async for listed in provider.list(owner=owner)] == []
    await provider.close()


async def test_the_container_has_the_walls_and_limits_that_were_asked_for(
    provider: DockerProvider, make_spec: MakeSpec, engine: docker.DockerClient, owner: str
) -> None:
    resources = Resources(100 * MEBIBYTE, cpus=0.5, pids=40, disk_bytes=50 * MEBIBYTE)
    ref = await provider.create(make_spec(resources=resources, labels={"purpose": "verify"}))

    about = engine.containers.get(ref).attrs
    host, config = about["HostConfig"], about["Config"]

    assert host["NetworkMode"] == "none"
    assert (host["ReadonlyRootfs"], host["Privileged"]) == (True, False)
    assert (host["CapDrop"], host["CapAdd"]) == (["ALL"], None)
    assert host["SecurityOpt"] == ["no-new-privileges:true"]
    assert (host["Memory"], host["MemorySwap"]) == (100 * MEBIBYTE, 100 * MEBIBYTE)
    assert (host["NanoCpus"], host["PidsLimit"]) == (500_000_000, 40)
    assert config["User"] == "1000:1000"
    assert config["Labels"].items() >= {"omoi.owner": owner, "omoi.purpose": "verify"}.items()
    assert sorted(mount["Destination"] for mount in about["Mounts"]) == [paths.HOME, paths.WORKSPACE]


async def test_a_first_process_that_cannot_start_fails_the_creation_and_leaves_nothing(
    provider: DockerProvider, make_spec: MakeSpec, owner: str
) -> None:
    with pytest.raises(ProviderError, match="/no/such/program"):
        await provider.create(make_spec(["/no/such/program"]))

    assert [listed.ref async for listed in provider.list(owner=owner)] == []


async def test_an_invalid_spec_is_refused_at_once(provider: DockerProvider, make_spec: MakeSpec) -> None:
    for changes, reason in (
        ({"id": "no/name"}, "name of a container"),
        ({"env": {"A": "x\0y"}}, "zero byte"),
        ({"gateway_folder": Path("/nonexistent/gateway")}, "not a folder"),
    ):
        with pytest.raises(ProviderError, match=reason):
            await provider.create(make_spec(**changes))


async def test_a_container_that_is_not_ours_is_never_touched(
    provider: DockerProvider, engine: docker.DockerClient, image: str
) -> None:
    name = f"not-ours-{secrets.token_hex(4)}"
    stranger = engine.containers.create(image, ["sleep", "60"], name=name, network_mode="none")
    try:
        await provider.destroy(SandboxRef(name))
        # Another name that the engine knows it by, but not the sandbox's own.
        await provider.destroy(SandboxRef(str(stranger.id)))
        with pytest.raises(SandboxGone):
            await provider.exec(SandboxRef(name), ["true"], timeout=SOON)
        with pytest.raises(SandboxGone):
            await provider.inspect(SandboxRef(name))

        assert engine.containers.get(name).status == "created"
    finally:
        stranger.remove(force=True, v=True)


async def test_it_survives_and_is_found_when_the_process_that_created_it_is_killed(
    provider: DockerProvider, host: str, image: str, owner: str
) -> None:
    ref = SandboxRef(f"omoios-test-{secrets.token_hex(4)}")
    starter = await asyncio.create_subprocess_exec(
        sys.executable, "-c", LAUNCHER, host, image, owner, ref, stdout=asyncio.subprocess.PIPE
    )
    assert starter.stdout is not None
    assert await starter.stdout.readline() == b"made\n"
    starter.kill()
    await starter.wait()

    assert [listed.ref async for listed in provider.list(owner=owner)] == [ref]
    assert (await provider.inspect(ref)).alive
    seen = await provider.exec(ref, ["/usr/bin/env"], timeout=SOON)
    assert sorted(seen.stdout.splitlines()) == [b"PATH=/usr/bin:/bin", b"TOKEN=its-own"]


async def test_a_killed_container_is_reported_and_its_work_can_still_be_saved(
    provider: DockerProvider, sandbox: SandboxRef, engine: docker.DockerClient
) -> None:
    await provider.write_file(sandbox, "/workspace/work", b"unfinished")
    waiting = asyncio.create_task(provider.inspect(sandbox, wait=SOON))
    engine.containers.get(sandbox).kill("SIGKILL")

    report = await waiting

    assert (report.alive, report.reason) == (False, EndReason.UNKNOWN)
    assert await provider.read_file(sandbox, "/workspace/work") == b"unfinished"
    assert (await provider.exec(sandbox, ["cat", "/workspace/work"], timeout=SOON)).stdout == b"unfinished"
    first = await provider.exec(sandbox, ["sh", "-c", "cat /proc/[0-9]*/cmdline"], timeout=SOON)
    assert b"sleep" not in first.stdout


async def test_a_container_that_was_stopped_by_hand_reports_how_its_sandbox_ended(
    provider: DockerProvider, make_spec: MakeSpec, engine: docker.DockerClient
) -> None:
    ref = await provider.create(make_spec(["sh", "-c", "echo last words >&2; exit 7"]))
    await provider.inspect(ref, wait=SOON)
    engine.containers.get(ref).stop()

    report = await provider.inspect(ref)
    await provider.exec(ref, ["true"], timeout=SOON)
    again = await provider.inspect(ref)

    assert (report.reason, report.exit_code) == (EndReason.EXITED, 7)
    assert again == report
    assert engine.containers.get(ref).logs(stdout=False) == b"last words\n"


async def test_memory_that_a_child_of_the_first_process_lacked_is_reported(
    provider: DockerProvider, make_spec: MakeSpec
) -> None:
    hog = f"{IMAGE_RUNTIME.python} -c \"b'x' * (1 << 30)\"; exit $?"
    ref = await provider.create(make_spec(["sh", "-c", hog]))

    report = await provider.inspect(ref, wait=SOON)

    assert (report.reason, report.exit_code) == (EndReason.OUT_OF_MEMORY, 137)


async def test_an_end_by_full_disk_is_reported_and_the_files_can_be_saved(
    provider: DockerProvider, make_spec: MakeSpec
) -> None:
    resources = Resources(256 * MEBIBYTE, cpus=1, pids=64, disk_bytes=32 * MEBIBYTE)
    fill = "echo kept > kept; head -c 60000000 /dev/urandom > ~/a; head -c 60000000 /dev/urandom > b; sleep 600"
    ref = await provider.create(make_spec(["sh", "-c", fill], resources=resources))

    report = await provider.inspect(ref, wait=SOON)

    assert report.reason is EndReason.DISK_FULL
    assert report.disk_bytes is not None
    assert report.disk_bytes > 32 * MEBIBYTE
    assert await provider.read_file(ref, "/workspace/kept") == b"kept\n"


async def test_files_without_a_name_count_as_disk(provider: DockerProvider, make_spec: MakeSpec) -> None:
    resources = Resources(256 * MEBIBYTE, cpus=1, pids=64, disk_bytes=32 * MEBIBYTE)
    fill = "import os, signal\nfile = open('x', 'wb'); os.unlink('x'); file.write(os.urandom(60 << 20)); signal.pause()"
    ref = await provider.create(make_spec(python(fill), resources=resources))

    report = await provider.inspect(ref, wait=SOON)

    assert report.reason is EndReason.DISK_FULL


@pytest.mark.parametrize("turns", [1, 30, 3000])
async def test_a_cancelled_creation_leaves_nothing(
    provider: DockerProvider, make_spec: MakeSpec, owner: str, turns: int
) -> None:
    creation = asyncio.create_task(provider.create(make_spec()))
    for _ in range(turns):
        await asyncio.sleep(0)
    creation.cancel()

    with pytest.raises(asyncio.CancelledError):
        await creation

    assert [listed.ref async for listed in provider.list(owner=owner)] == []


async def test_a_cancelled_wait_for_the_end_does_not_affect_the_sandbox(
    provider: DockerProvider, sandbox: SandboxRef
) -> None:
    waiting = asyncio.create_task(provider.inspect(sandbox, wait=timedelta(hours=1)))
    await provider.exec(sandbox, ["true"], timeout=SOON)
    waiting.cancel()

    with pytest.raises(asyncio.CancelledError):
        await waiting

    assert (await provider.inspect(sandbox, wait=timedelta(milliseconds=50))).alive


async def test_many_waits_and_commands_do_not_block_each_other(provider: DockerProvider, sandbox: SandboxRef) -> None:
    waits = [asyncio.create_task(provider.inspect(sandbox, wait=timedelta(hours=1))) for _ in range(40)]

    result = await provider.exec(sandbox, ["echo", "through"], timeout=SOON)
    await provider.destroy(sandbox)
    ended = await asyncio.gather(*waits, return_exceptions=True)

    assert result.stdout == b"through\n"
    assert all(isinstance(error, SandboxGone) for error in ended), ended


async def test_a_command_that_kills_its_runner_counts_as_killed(probe: Probe) -> None:
    suicide = await probe("import os, signal; os.kill(os.getppid(), signal.SIGKILL); signal.pause()")

    assert suicide.exit_code == 137


async def test_commands_are_ended_with_the_first_process(provider: DockerProvider, make_spec: MakeSpec) -> None:
    ref = await provider.create(make_spec(["sh", "-c", "until [ -e go ]; do sleep 0.01; done"]))

    with pytest.raises(ProviderError, match="ended while the command ran"):
        await provider.exec(ref, ["sh", "-c", "touch go; sleep 600"], timeout=SOON)

    assert (await provider.inspect(ref)).exit_code == 0
