"""Every method of the provider, through the real SDK, against both versions of the API."""

import asyncio
import signal
from datetime import timedelta

import pytest

from omoi_os.errors import ProviderError, SandboxGone
from omoi_os.providers.base import EndReason, SandboxRef
from omoi_os.providers.daytona.params import LABEL_OWNER
from omoi_os.providers.daytona.provider import DaytonaProvider
from tests.providers.conftest import MakeSpec
from tests.providers.daytona.conftest import SOON
from tests.providers.daytona.server import FakeDaytona


async def test_the_first_process_runs_in_the_workspace_with_the_given_environment(
    provider: DaytonaProvider, make_spec: MakeSpec
) -> None:
    env = {"PATH": "/usr/bin:/bin", "WORD": "ü'\"\n$(id)"}
    script = 'env -0 > /home/agent/env; pwd > /home/agent/pwd; printf %s "$1" > /home/agent/word'
    spec = make_spec(["sh", "-c", script, "sh", "a 'b\" \n ü"], env=env)

    ref = await provider.create(spec)
    report = await provider.inspect(ref, wait=SOON)

    assert (ref, report.alive, report.reason, report.exit_code) == (spec.id, False, EndReason.EXITED, 0)
    seen = dict(
        line.split("=", 1) for line in (await provider.read_file(ref, "/home/agent/env")).decode().split("\0") if line
    )
    assert {key: value for key, value in seen.items() if key not in ("PWD", "OLDPWD", "SHLVL", "_")} == env
    assert await provider.read_file(ref, "/home/agent/pwd") == b"/workspace\n"
    assert (await provider.read_file(ref, "/home/agent/word")).decode() == "a 'b\" \n ü"


async def test_a_command_runs_beside_the_first_process(provider: DaytonaProvider, make_spec: MakeSpec) -> None:
    ref = await provider.create(make_spec())

    result = await provider.exec(ref, ["sh", "-c", "cat; echo err >&2; exit 5"], stdin=b"\0\xffin", timeout=SOON)
    report = await provider.inspect(ref)

    assert (result.exit_code, result.stdout, result.stderr) == (5, b"\0\xffin", b"err\n")
    assert report.alive
    assert report.disk_bytes is not None


async def test_long_arguments_and_long_output_pass(provider: DaytonaProvider, make_spec: MakeSpec) -> None:
    ref = await provider.create(make_spec())
    word = "x" * 100_000

    result = await provider.exec(ref, ["printf", "%s%s", word, word], timeout=SOON)
    longer = await provider.exec(ref, ["head", "-c", "20000000", "/dev/zero"], timeout=SOON)

    assert result.stdout == word.encode() * 2
    assert (len(longer.stdout), longer.truncated) == (8 * 1024 * 1024, True)


async def test_a_command_over_its_time_is_killed(provider: DaytonaProvider, make_spec: MakeSpec) -> None:
    ref = await provider.create(make_spec())

    with pytest.raises(TimeoutError, match="sleep ran longer"):
        await provider.exec(ref, ["sleep", "600"], timeout=timedelta(seconds=0.5))

    assert (await provider.exec(ref, ["pgrep", "-f", "sleep 600"], timeout=SOON)).stdout.count(b"\n") <= 1


async def test_a_cancelled_command_is_killed(
    provider: DaytonaProvider, make_spec: MakeSpec, server: FakeDaytona
) -> None:
    ref = await provider.create(make_spec())
    script = "touch /workspace/up; sleep 5; touch /workspace/late"
    running = asyncio.create_task(provider.exec(ref, ["sh", "-c", script], timeout=SOON))
    await _until_there(provider, ref, "/workspace/up")

    running.cancel()
    await asyncio.gather(running, return_exceptions=True)

    assert running.cancelled()
    found = await provider.exec(
        ref, ["sh", "-c", "grep -l -z 'touch /workspace/l[a]te' /proc/[0-9]*/cmdline"], timeout=SOON
    )
    assert found.stdout == b""


async def test_commands_and_files_work_after_the_first_process_has_ended(
    provider: DaytonaProvider, make_spec: MakeSpec
) -> None:
    ref = await provider.create(make_spec(["sh", "-c", "echo work > /workspace/file; kill -KILL $$"]))

    report = await provider.inspect(ref, wait=SOON)
    result = await provider.exec(ref, ["cat", "/workspace/file"], timeout=SOON)

    assert (report.reason, report.signal) == (EndReason.SIGNALLED, signal.SIGKILL)
    assert result.stdout == b"work\n"


async def test_its_lifetime_ends_it(provider: DaytonaProvider, make_spec: MakeSpec) -> None:
    ref = await provider.create(make_spec(lifetime=timedelta(seconds=1)))

    report = await provider.inspect(ref, wait=SOON)

    assert (report.alive, report.reason) == (False, EndReason.LIFETIME)


async def test_a_wait_returns_when_its_time_is_over_and_the_sandbox_is_alive(
    provider: DaytonaProvider, make_spec: MakeSpec
) -> None:
    ref = await provider.create(make_spec())

    assert (await provider.inspect(ref, wait=timedelta(seconds=0.2))).alive


@pytest.mark.parametrize("content", [b"", b"\0\xff\r\n--DAYTONA\r\n", bytes(range(256)) * 20_000])
async def test_files_come_back_unchanged(provider: DaytonaProvider, make_spec: MakeSpec, content: bytes) -> None:
    ref = await provider.create(make_spec())

    await provider.write_file(ref, "/workspace/a/ü b/c'.bin", content)

    assert await provider.read_file(ref, "/workspace/a/ü b/c'.bin") == content


async def test_a_path_that_is_not_a_file_is_reported(provider: DaytonaProvider, make_spec: MakeSpec) -> None:
    ref = await provider.create(make_spec())

    with pytest.raises(FileNotFoundError):
        await provider.read_file(ref, "/workspace/missing")
    with pytest.raises(ProviderError, match="not a plain file"):
        await provider.read_file(ref, "/home/agent/.omoi")
    for path in ("/etc/passwd", "workspace/x", "/workspace/../etc/passwd", "/workspace/", "/workspace/a\0b"):
        with pytest.raises(ProviderError, match="is not the path of a file"):
            await provider.write_file(ref, path, b"")


async def test_the_list_has_all_pages_and_only_the_owners(
    provider: DaytonaProvider, make_spec: MakeSpec, server: FakeDaytona
) -> None:
    server.page = 2
    made = [await provider.create(make_spec()) for _ in range(3)]
    other = await provider.create(make_spec(owner="others"))

    listed = [listed.ref async for listed in provider.list(owner="tests")]

    assert sorted(listed) == sorted(made)
    assert [listed.ref async for listed in provider.list(owner="others")] == [other]
    assert server.requests.count("GET /api/sandbox") == 3


async def test_destroying_is_final_and_can_be_repeated(provider: DaytonaProvider, make_spec: MakeSpec) -> None:
    ref = await provider.create(make_spec())
    busy = asyncio.create_task(provider.exec(ref, ["sh", "-c", "touch /workspace/up; sleep 600"], timeout=SOON))
    await _until_there(provider, ref, "/workspace/up")

    await provider.destroy(ref)
    await provider.destroy(ref)

    with pytest.raises(SandboxGone):
        await busy
    for call in (
        provider.inspect(ref),
        provider.exec(ref, ["true"], timeout=SOON),
        provider.read_file(ref, "/workspace/up"),
        provider.write_file(ref, "/workspace/up", b""),
    ):
        with pytest.raises(SandboxGone):
            await call
    assert [listed.ref async for listed in provider.list(owner="tests")] == []


async def test_a_sandbox_that_is_not_ours_is_never_touched(provider: DaytonaProvider, server: FakeDaytona) -> None:
    client = provider._client()
    foreign = await client.create()
    theirs = SandboxRef(foreign.name)

    await provider.destroy(theirs)

    assert foreign.id in server.records
    with pytest.raises(SandboxGone):
        await provider.inspect(theirs)
    assert LABEL_OWNER not in foreign.labels


async def test_it_is_found_again_by_another_provider(
    provider: DaytonaProvider, make_spec: MakeSpec, server: FakeDaytona
) -> None:
    ref = await provider.create(make_spec())
    await provider.close()

    assert [listed.ref async for listed in provider.list(owner="tests")] == [ref]
    assert (await provider.inspect(ref)).alive


async def test_a_sandbox_that_daytona_stopped_has_ended_but_can_be_read(
    provider: DaytonaProvider, make_spec: MakeSpec, server: FakeDaytona
) -> None:
    ref = await provider.create(make_spec(["sh", "-c", "echo work > /workspace/file; sleep 600"]))
    await _until_there(provider, ref, "/workspace/file")
    server.put_to_sleep(server.named(ref))

    asleep = await provider.inspect(ref, wait=SOON)
    content = await provider.read_file(ref, "/workspace/file")
    woken = await provider.inspect(ref)

    assert (asleep.alive, asleep.reason) == (False, EndReason.UNKNOWN)
    assert content == b"work\n"
    assert (woken.alive, woken.reason) == (False, EndReason.UNKNOWN)


async def _until_there(provider: DaytonaProvider, ref: SandboxRef, path: str) -> None:
    script = 'until [ -e "$1" ]; do sleep 0.02; done'
    await provider.exec(ref, ["sh", "-c", script, "sh", path], timeout=SOON)
