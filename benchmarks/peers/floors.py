"""The floors of a start: bubblewrap with the full profile and none of our code inside."""

import asyncio
import contextlib
import os
import shutil
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from benchmarks.load.model_host import Model
from omoi_os.protocol import paths
from omoi_os.providers.local.host import bubblewrap, profile, seccomp

_MEMORY_BYTES = 1 << 30

#: The shortest program with a model call: import the SDK, start its CLI, send a prompt.
_AGENT = """
import asyncio, sys
from claude_agent_sdk import ClaudeAgentOptions, ClaudeSDKClient
async def main():
    async with ClaudeSDKClient(ClaudeAgentOptions(setting_sources=[], cwd=sys.argv[1])) as client:
        await client.query("Do nothing.")
        async for _ in client.receive_response():
            pass
asyncio.run(main())
"""


def compile_sdk() -> None:
    """Compile the SDK and its imports, so that no floor has to."""
    subprocess.run([sys.executable, "-I", "-c", "import claude_agent_sdk"], env={}, check=True)


async def bubblewrap_and_python() -> float:
    """Return the milliseconds from starting bwrap to the end of an interpreter that does nothing inside."""
    with _sandbox("-I", "-S", "-c", "pass") as (command, fds):
        begun = time.perf_counter()
        # Nothing else runs meanwhile, and asyncio starts programs more slowly.
        subprocess.run(command, env={}, pass_fds=fds, check=True)  # noqa: ASYNC221
        return (time.perf_counter() - begun) * 1000


async def bubblewrap_and_agent(model: Model) -> float:
    """Return the milliseconds from starting bwrap to the first model call of an SDK without our code around it."""
    environment = {
        "ANTHROPIC_BASE_URL": model.url,
        "ANTHROPIC_AUTH_TOKEN": "none",
        "HOME": paths.HOME,
        "PATH": "/usr/local/bin:/usr/bin:/bin",
        "LANG": "C.UTF-8",
        # As in our own sandboxes: without these the CLI's start takes longer.
        "CLAUDE_CODE_DISABLE_NONESSENTIAL_TRAFFIC": "1",
        "CLAUDE_AGENT_SDK_SKIP_VERSION_CHECK": "1",
        "IS_SANDBOX": "1",
    }
    with _sandbox("-I", "-c", _AGENT, paths.WORKSPACE, network=True, environment=environment) as (command, fds):
        expected = model.expect()
        begun = time.time()
        process = await asyncio.create_subprocess_exec(
            *command, env={}, pass_fds=fds, stdin=subprocess.DEVNULL, stderr=subprocess.PIPE
        )
        ended = asyncio.ensure_future(process.communicate())
        either: list[asyncio.Future[Any]] = [expected, ended]
        try:
            await asyncio.wait(either, return_when=asyncio.FIRST_COMPLETED)
            if not expected.done():
                raise RuntimeError(f"the bare agent called no model: {(await ended)[1].decode(errors='replace')}")
            call = expected.result()
            call.released.set()
            return (call.at - begun) * 1000
        finally:
            with contextlib.suppress(ProcessLookupError):
                process.kill()
            await ended


@contextmanager
def _sandbox(
    *arguments: str, network: bool = False, environment: Mapping[str, str] | None = None
) -> Iterator[tuple[list[str], list[int]]]:
    """Return the command that runs this interpreter in a bare sandbox, and the descriptors that it inherits."""
    folder = Path(tempfile.mkdtemp(prefix="omoi-floor-"))
    program = os.memfd_create("seccomp")
    try:
        os.write(program, seccomp.build_filter())
        os.lseek(program, 0, os.SEEK_SET)
        options = [option for option in _options(folder) if not (network and option == "--unshare-net")]
        for name, value in (environment or {}).items():
            options += ["--setenv", name, value]
        yield (
            [
                str(bubblewrap.find()),
                *options,
                *("--chdir", paths.WORKSPACE, "--seccomp", str(program), "--", sys.executable),
                *arguments,
            ],
            [program],
        )
    finally:
        os.close(program)
        shutil.rmtree(folder, ignore_errors=True)


def _options(folder: Path) -> list[str]:
    """Return the profile's options, with everything that they mount created in the folder."""
    options = profile.arguments(
        profile.look_at_host(), folder, gateway_folder=None, mirror=None, memory_bytes=_MEMORY_BYTES
    )
    generated = profile.generated_etc(profile.USER_UID)
    for path in map(Path, options):
        if folder in path.parents and path.name in generated:
            path.parent.mkdir(parents=True, exist_ok=True)
            path.write_text(generated[path.name])
        elif folder in path.parents:
            path.mkdir(parents=True, exist_ok=True)
    return options
