"""Runs git for the platform: no configuration but ours, no hooks, no prompts, a time-out."""

import asyncio
import os
import signal
from collections.abc import Mapping
from contextlib import suppress
from pathlib import Path

from omoi_os.children import die_with_parent
from omoi_os.errors import ForgeError

#: Configuration of every git command on a repository whose content is not ours.
SAFE_CONFIG = {"core.hooksPath": "/dev/null", "core.fsmonitor": "false"}

#: What takes no longer than this is over before anybody could miss its parent.
_QUICK_SECONDS = 60

_IDENTITY = {"NAME": "OmoiOS", "EMAIL": "omoi@localhost"}


def environment(config: Mapping[str, str] = SAFE_CONFIG, *, global_config: str = "/dev/null") -> dict[str, str]:
    """All that git gets to see of the environment."""
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


async def end_group(process: asyncio.subprocess.Process) -> None:
    """Kill a process that leads its own group, and whatever it has started, and wait for its end.

    What it had written is read away: its end is not seen while a pipe of it is full.
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
) -> str:
    """What git prints. A failure is a `ForgeError` with git's last line.

    A command that may run for longer than usual ends with this process. Not every one is arranged so: it takes a
    fork of the whole process, which costs more than most commands do.
    """
    where = [f"--git-dir={git_dir}"] if git_dir else []
    try:
        process = await asyncio.create_subprocess_exec(
            "git",
            *where,
            *arguments,
            stdin=asyncio.subprocess.PIPE,
            stdout=asyncio.subprocess.PIPE,
            stderr=asyncio.subprocess.PIPE,
            env={**environment(global_config=global_config), **(variables or {})},
            cwd="/",
            start_new_session=True,
            preexec_fn=die_with_parent(signal.SIGTERM) if timeout > _QUICK_SECONDS else None,
        )
    except FileNotFoundError:
        raise ForgeError("git is not installed: install it and try again") from None
    try:
        async with asyncio.timeout(timeout):
            out, err = await process.communicate(stdin)
    except TimeoutError:
        raise ForgeError(f"git {arguments[0]} did not end within {timeout:g} s") from None
    finally:
        if process.returncode is None:
            await end_group(process)
    if process.returncode != 0:
        lines = err.decode(errors="replace").strip().splitlines() or [f"exit code {process.returncode}"]
        raise ForgeError(f"git {arguments[0]} failed: {lines[-1][:500]}")
    return out.decode(errors="replace").strip()
