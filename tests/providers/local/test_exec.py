"""Commands that run beside a sandbox's first process."""

import asyncio
import sys
from collections.abc import Awaitable, Callable
from datetime import timedelta
from pathlib import Path

import claude_agent_sdk
import pytest

from omoi_os.errors import ProviderError
from omoi_os.providers.base import ExecResult, SandboxRef, SandboxSpec
from omoi_os.providers.local.host.provider import LocalProvider

SOON = timedelta(seconds=30)

MakeSpec = Callable[..., SandboxSpec]
Probe = Callable[..., Awaitable[ExecResult]]

TREE = """
import os, sys, time
for _ in range(2):
    if os.fork():
        break
    os.setsid()
if os.fork() == 0:
    os.setsid()
    if os.fork():
        os._exit(0)
open('/workspace/started', 'a').write('x')
time.sleep(600)
"""
COUNT = """
import os
def words(pid):
    try: return open(f'/proc/{pid}/cmdline').read().split(chr(0))
    except OSError: return []
print(sum('marked' in words(pid) for pid in os.listdir('/proc') if pid.isdigit() and int(pid) != os.getpid()))
"""


async def test_exit_codes_outputs_and_signals_are_results(provider: LocalProvider, sandbox: SandboxRef) -> None:
    plain = await provider.exec(sandbox, ["sh", "-c", "echo out; echo err >&2; exit 7"], timeout=SOON)
    killed = await provider.exec(sandbox, ["sh", "-c", "kill -9 $$"], timeout=SOON)

    assert plain == ExecResult(7, b"out\n", b"err\n")
    assert killed.exit_code == 137


async def test_a_program_that_cannot_start_answers_as_in_a_shell(provider: LocalProvider, sandbox: SandboxRef) -> None:
    missing = await provider.exec(sandbox, ["no-such-program"], timeout=SOON)
    folder = await provider.exec(sandbox, ["/usr"], timeout=SOON)
    nowhere = await provider.exec(sandbox, ["true"], cwd="/no/such/folder", timeout=SOON)

    assert (missing.exit_code, folder.exit_code, nowhere.exit_code) == (127, 126, 127)
    assert b"no-such-program" in missing.stderr


async def test_an_invalid_command_is_refused_and_has_no_effect(provider: LocalProvider, sandbox: SandboxRef) -> None:
    with pytest.raises(ProviderError, match="zero byte"):
        await provider.exec(sandbox, ["echo", "a\0b"], timeout=SOON)
    with pytest.raises(ProviderError, match="at least one word"):
        await provider.exec(sandbox, [], timeout=SOON)
    long = await provider.exec(sandbox, ["echo", "x" * 200_000], timeout=SOON)

    assert long.exit_code == 126
    assert (await provider.inspect(sandbox)).alive


async def test_input_of_any_size_arrives_completely_and_ends(provider: LocalProvider, sandbox: SandboxRef) -> None:
    given = bytes(range(256)) * 8192

    echoed = await provider.exec(sandbox, ["cat"], stdin=given, timeout=SOON)
    nothing = await provider.exec(sandbox, ["cat"], timeout=SOON)

    assert echoed.stdout == given
    assert nothing.stdout == b""


async def test_the_start_and_the_end_of_a_huge_output_are_kept(provider: LocalProvider, sandbox: SandboxRef) -> None:
    script = "echo first; head -c 50000000 /dev/zero; echo last; head -c 20000000 /dev/zero >&2"

    result = await provider.exec(sandbox, ["sh", "-c", script], timeout=SOON)

    assert result.truncated
    assert result.stdout.startswith(b"first\n")
    assert result.stdout.endswith(b"last\n")
    assert len(result.stdout) < 10_000_000
    assert not (await provider.exec(sandbox, ["head", "-c", "5000000", "/dev/zero"], timeout=SOON)).truncated


async def test_the_environment_is_exactly_the_given_one(provider: LocalProvider, make_spec: MakeSpec) -> None:
    env = {"PATH": "/usr/bin:/bin", "GREETING": "good = morning\nall", "EMPTY": ""}
    ref = await provider.create(make_spec(["sh", "-c", "env -0 > /workspace/env; exec sleep 600"], env=env))

    beside = await provider.exec(ref, ["/usr/bin/env", "-0"], timeout=SOON)
    await provider.exec(ref, ["sh", "-c", "until [ -s env ]; do :; done"], timeout=SOON)
    first = await provider.read_file(ref, "/workspace/env")

    def parsed(text: bytes) -> dict[str, str]:
        return dict(item.split("=", 1) for item in text.decode().split("\0") if item)

    assert parsed(beside.stdout) == env
    assert {name: value for name, value in parsed(first).items() if name not in ("PWD", "SHLVL", "_", "OLDPWD")} == env


async def test_commands_run_in_the_workspace_by_default(provider: LocalProvider, sandbox: SandboxRef) -> None:
    assert (await provider.exec(sandbox, ["pwd"], timeout=SOON)).stdout == b"/workspace\n"
    assert (await provider.exec(sandbox, ["pwd"], cwd="/tmp", timeout=SOON)).stdout == b"/tmp\n"


async def test_a_timeout_kills_the_whole_tree_daemons_included(provider: LocalProvider, sandbox: SandboxRef) -> None:
    command = [sys.executable, "-I", "-S", "-c", TREE, "marked"]
    running = asyncio.create_task(provider.exec(sandbox, command, timeout=timedelta(seconds=2)))
    wait = 'until [ "$(wc -c < /workspace/started)" -ge 4 ]; do :; done 2>/dev/null'
    await provider.exec(sandbox, ["sh", "-c", wait], timeout=SOON)
    during = await provider.exec(sandbox, [sys.executable, "-I", "-S", "-c", COUNT], timeout=SOON)

    with pytest.raises(TimeoutError):
        await running

    after = await provider.exec(sandbox, [sys.executable, "-I", "-S", "-c", COUNT], timeout=SOON)
    assert int(during.stdout) >= 4
    assert int(after.stdout) == 0
    assert (await provider.inspect(sandbox)).alive


async def test_a_cancelled_command_is_killed(provider: LocalProvider, sandbox: SandboxRef) -> None:
    marked = [sys.executable, "-I", "-S", "-c", "import time; open('/workspace/up', 'w'); time.sleep(600)", "marked"]
    running = asyncio.create_task(provider.exec(sandbox, marked, timeout=SOON))
    await provider.exec(sandbox, ["sh", "-c", "until [ -e /workspace/up ]; do :; done"], timeout=SOON)
    running.cancel()
    with pytest.raises(asyncio.CancelledError):
        await running

    after = await provider.exec(sandbox, [sys.executable, "-I", "-S", "-c", COUNT], timeout=SOON)

    assert int(after.stdout) == 0


async def test_processes_that_a_command_leaves_running_do_not_delay_its_result_and_are_killed(
    provider: LocalProvider, sandbox: SandboxRef
) -> None:
    leaving = ["sh", "-c", "setsid sleep 600 & echo done"]

    result = await provider.exec(sandbox, leaving, timeout=SOON)

    assert result.stdout == b"done\n"
    seen = await provider.exec(sandbox, ["sh", "-c", "cat /proc/[0-9]*/cmdline | tr '\\0' ' '"], timeout=SOON)
    assert seen.stdout.count(b"sleep 600") == 1


async def test_many_commands_run_at_once(provider: LocalProvider, sandbox: SandboxRef) -> None:
    meet = "echo > /workspace/here-$0; until [ $(ls /workspace | wc -l) -ge 8 ]; do :; done; echo $0"

    results = await asyncio.gather(
        *(provider.exec(sandbox, ["sh", "-c", meet, str(number)], timeout=SOON) for number in range(8))
    )

    assert [int(result.stdout) for result in results] == list(range(8))


async def test_a_command_can_signal_the_first_process(provider: LocalProvider, make_spec: MakeSpec) -> None:
    ref = await provider.create(
        make_spec(["sh", "-c", "trap 'exit 5' TERM; touch /workspace/up; while :; do sleep 0.05; done"])
    )
    signal = "until [ -e /workspace/up ]; do :; done; kill -TERM $(grep -l 'trap' /proc/[0-9]*/cmdline | cut -d/ -f3)"
    await provider.exec(ref, ["sh", "-c", signal.replace("trap", "tra[p]")], timeout=SOON)

    assert (await provider.inspect(ref, wait=SOON)).exit_code == 5


async def test_the_agent_sdk_its_program_and_git_work_inside(provider: LocalProvider, make_spec: MakeSpec) -> None:
    ref = await provider.create(make_spec())
    program = Path(claude_agent_sdk.__file__).parent / "_bundled" / "claude"
    imported = [sys.executable, "-I", "-c", "import claude_agent_sdk; print(claude_agent_sdk.__version__)"]

    sdk = await provider.exec(ref, imported, timeout=timedelta(seconds=60))
    cli = await provider.exec(ref, [str(program), "--version"], timeout=timedelta(seconds=60))
    git = await provider.exec(ref, ["git", "--version"], timeout=SOON)

    assert sdk.stdout.decode().strip() == claude_agent_sdk.__version__, sdk.stderr
    assert b"Claude" in cli.stdout, cli.stderr
    assert git.stdout.startswith(b"git version"), git.stderr
