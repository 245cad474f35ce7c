"""Runs git for the platform: no configuration but ours, no hooks, no prompts, a timeout."""

import asyncio
import os
import signal
import subprocess
from collections.abc import Mapping
from concurrent.futures import Future, ThreadPoolExecutor
from contextlib import suppress
from pathlib import Path
from typing import Any

from omoi_os.errors import ForgeError
from omoi_os.system.children import die_with_parent

#: Makes git sync objects, packs and refs to disk before it continues. A push is kept as one pack, because each loose
#: object would be synced separately.
DURABLE_CONFIG = {"core.fsync": "all", "core.fsyncMethod": "fsync", "transfer.unpackLimit": "1"}

#: Configuration of every git command on a repository whose content is not ours.
SAFE_CONFIG = {"core.hooksPath": "/dev/null", "core.fsmonitor": "false"}

#: How much memory one git process may allocate, and how long it may compute. A pushed megabyte can stand for gigabytes.
MEMORY_BYTES = 1 << 30
CPU_SECONDS = 600
#: Limit for receiving a push. Git reads an object as a whole, so this also bounds the size of an object.
PUSH_MEMORY_BYTES = 384 << 20
#: The largest pack that one push may contain.
MAX_PUSH_BYTES = 1 << 30

#: Configuration that keeps git well below its memory limit, whatever the repository contains.
THRIFTY_CONFIG = {
    "pack.threads": "1",
    "pack.windowMemory": "64m",
    "pack.deltaCacheSize": "32m",
    "core.packedGitLimit": "256m",
    "core.packedGitWindowSize": "16m",
    "core.deltaBaseCacheLimit": "32m",
    # Larger files are streamed, not read whole.
    "core.bigFileThreshold": "32m",
}
#: A pushed file is never streamed: a file that exceeds the memory limit of a push is refused.
PUSH_CONFIG = {**THRIFTY_CONFIG, "core.bigFileThreshold": "4g"}

#: Sets the limits in a shell that then becomes git, so that this process need not fork for it. A limit that is already
#: lower stays.
_LIMIT = 'ulimit -d "$0" 2>/dev/null; ulimit -t "$1" 2>/dev/null; shift; exec "$@"'
_NO_SUCH_COMMAND = 127
_NOT_INSTALLED = "git is not installed: install it and try again"

#: A command with a shorter timeout may outlive this process: it ends soon anyway.
_QUICK_SECONDS = 60

#: One thread for each command of `run`: it reads the output and waits for the end. asyncio's processes are not used,
#: because on Python 3.11 a task that is cancelled while one of them starts may never end.
_THREADS = ThreadPoolExecutor(max_workers=256, thread_name_prefix="git")

#: How long a process may take to start when nobody waits for it any more.
_START_SECONDS = 1.0
#: Keeps the tasks that end such processes: the loop alone does not.
_ENDING: set[asyncio.Task[None]] = set()

#: Committer of what the platform commits itself.
EMAIL = "omoi@localhost"
_IDENTITY = {"NAME": "OmoiOS", "EMAIL": EMAIL}


def limited(*argv: str, memory: int = MEMORY_BYTES, seconds: int = CPU_SECONDS) -> list[str]:
    """Return the command with limits on memory and processor time, which apply to each process that it starts."""
    return ["/bin/sh", "-c", _LIMIT, str(memory // 1024), str(seconds), *argv]


def environment(config: Mapping[str, str] = SAFE_CONFIG, *, global_config: str = "/dev/null") -> dict[str, str]:
    """Return the whole environment of a git process."""
    config = {**THRIFTY_CONFIG, **config, **DURABLE_CONFIG}
    values = {
        "PATH": os.environ.get("PATH", os.defpath),
        "HOME": "/nonexistent",
        "LC_ALL": "C",
        "GIT_CONFIG_NOSYSTEM": "1",
        "GIT_CONFIG_GLOBAL": global_config,
        "GIT_TERMINAL_PROMPT": "0",
        "GIT_ALLOW_PROTOCOL": "file",
        "GIT_CONFIG_COUNT": str(len(config)),
    }
    for index, (key, value) in enumerate(config.items()):
        values[f"GIT_CONFIG_KEY_{index}"], values[f"GIT_CONFIG_VALUE_{index}"] = key, value
    for role in ("AUTHOR", "COMMITTER"):
        values |= {f"GIT_{role}_{key}": value for key, value in _IDENTITY.items()}
    return values


async def start(*command: str, **options: Any) -> asyncio.subprocess.Process:
    """Start a command as asyncio's process, which leads its own group.

    If the calling task is cancelled meanwhile, the process is killed before the cancellation is passed on. Without
    this, asyncio waits for pipes that nobody reads (Python 3.11).
    """
    creating = asyncio.create_subprocess_exec(*command, cwd="/", start_new_session=True, **options)
    starting = asyncio.create_task(creating)
    try:
        return await asyncio.shield(starting)
    except asyncio.CancelledError:
        ending = asyncio.create_task(_end_started(starting))
        _ENDING.add(ending)
        ending.add_done_callback(_ENDING.discard)
        await asyncio.shield(ending)
        raise


async def _end_started(starting: asyncio.Task[asyncio.subprocess.Process]) -> None:
    """Wait until a process has started, and end it."""
    await asyncio.wait([starting], timeout=_START_SECONDS)
    while not starting.done():
        # At the end of a loop it was cancelled too. asyncio has killed the process then, and stops waiting for it when
        # it is cancelled again.
        starting.cancel()
        await asyncio.wait([starting], timeout=_START_SECONDS)
    if not starting.cancelled() and starting.exception() is None:
        await end_group(starting.result())


async def end_group(process: asyncio.subprocess.Process) -> None:
    """Kill a process that leads its own group, with all that it started, and wait until it has ended.

    Its remaining output is read and dropped, because a process with a full pipe is not reported as ended.
    """
    with suppress(ProcessLookupError):
        os.killpg(process.pid, signal.SIGKILL)
    await process.communicate()


async def run(
    *arguments: str,
    git_dir: Path | None = None,
    stdin: bytes = b"",
    global_config: str = "/dev/null",
    variables: Mapping[str, str] | None = None,
    timeout: float = _QUICK_SECONDS,
    memory: int | None = MEMORY_BYTES,
    nice: bool = False,
) -> str:
    """Run git and return its output. Raise `ForgeError` with git's last line if it fails.

    A command with a long `timeout` is killed when this process ends. That needs a fork of this process, which costs
    more than most commands, so short ones are started without it. `nice` runs git at the lowest priority. Without
    `memory` there are no limits, which saves starting a shell: only for commands that read no content.
    """
    where = [f"--git-dir={git_dir}"] if git_dir else []
    command = (*(("nice", "-n", "19") if nice else ()), "git", *where, *arguments)
    try:
        process = subprocess.Popen(  # noqa: ASYNC220  it returns as soon as the process has started
            command if memory is None else limited(*command, memory=memory),
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            env={**environment(global_config=global_config), **(variables or {})},
            cwd="/",
            start_new_session=True,
            preexec_fn=die_with_parent(signal.SIGTERM) if timeout > _QUICK_SECONDS else None,
        )
    except FileNotFoundError:
        raise ForgeError(_NOT_INSTALLED) from None
    communication = _THREADS.submit(process.communicate, stdin)
    ending = asyncio.wrap_future(communication)
    try:
        async with asyncio.timeout(timeout):
            out, err = await asyncio.shield(ending)
    except TimeoutError:
        raise ForgeError(f"git {arguments[0]} did not end within {timeout:g} s") from None
    finally:
        if not ending.done():
            with suppress(ProcessLookupError):
                os.killpg(process.pid, signal.SIGKILL)
            await _wait_for(communication, ending)
    if process.returncode == _NO_SUCH_COMMAND:
        raise ForgeError(_NOT_INSTALLED)
    if process.returncode != 0:
        lines = err.decode(errors="replace").strip().splitlines() or [f"exit code {process.returncode}"]
        raise ForgeError(f"git {arguments[0]} failed: {lines[-1][:500]}")
    return out.decode(errors="replace").strip()


async def _wait_for(communication: Future[tuple[bytes, bytes]], ending: asyncio.Future[tuple[bytes, bytes]]) -> None:
    """Wait until the thread of a killed command has ended."""
    try:
        await asyncio.wait([ending])
    except asyncio.CancelledError:
        # The thread ends by itself, but must not report to a loop that may be closed by then. A thread that has not
        # started yet must start: it waits for the killed process.
        if communication.running():
            ending.cancel()
        raise
