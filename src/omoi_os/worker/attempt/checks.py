"""Run the acceptance commands inside the sandbox, for the agent. The platform runs them again for the verdict."""

from __future__ import annotations

import asyncio
import os
import secrets
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from omoi_os.worker.processes import kill_marked, kill_tree
from omoi_os.worker.startup.driver_start import MARK_NAME

CHECK_SECONDS = 900.0
#: How much of the end of a check's output is kept.
OUTPUT_BYTES = 8 * 1024
CHUNK_BYTES = 64 * 1024
LEFT_BEHIND_SECONDS = 1.0

#: The exit code of `timeout` for a command that took too long.
EXIT_TIMED_OUT = 124


async def run_checks(
    commands: Sequence[str], *, workspace: Path, environ: Mapping[str, str], seconds: float = CHECK_SECONDS
) -> list[dict[str, Any]]:
    """Run the commands in order until one fails. Return each as `{command, exit_code, output}`."""
    checks: list[dict[str, Any]] = []
    for command in commands:
        exit_code, output = await _run(command, workspace=workspace, environ=environ, seconds=seconds)
        checks.append({"command": command, "exit_code": exit_code, "output": output})
        if exit_code != 0:
            break
    return checks


async def _run(command: str, *, workspace: Path, environ: Mapping[str, str], seconds: float) -> tuple[int, str]:
    """Run one command, and kill everything it started when it ends."""
    mark = secrets.token_hex(8)
    reading, writing = os.pipe()
    process = await asyncio.create_subprocess_exec(
        *("/bin/sh", "-c", command),
        cwd=workspace,
        env={**environ, MARK_NAME: mark},
        stdin=asyncio.subprocess.DEVNULL,
        stdout=writing,
        stderr=writing,
        start_new_session=True,
    )
    os.close(writing)
    output = bytearray()
    printing = asyncio.create_task(_collect(reading, output))
    try:
        async with asyncio.timeout(seconds):
            code = await process.wait()
    except TimeoutError:
        code = EXIT_TIMED_OUT
        output += f"\n[stopped after {seconds:g} s]".encode()
    finally:
        if process.returncode is None:
            kill_tree(process.pid)
            await process.wait()
        # A server that the command left behind would affect the next command.
        kill_marked(mark)
        # Nothing writes any more, unless a process escaped; do not wait for that one.
        await asyncio.wait({printing}, timeout=LEFT_BEHIND_SECONDS)
        printing.cancel()
    return code, output[-OUTPUT_BYTES:].decode(errors="replace").replace("\0", "")


async def _collect(reading: int, output: bytearray) -> None:
    """Collect the end of the output."""
    reader = asyncio.StreamReader()
    pipe = os.fdopen(reading, "rb", buffering=0)
    transport, _ = await asyncio.get_running_loop().connect_read_pipe(
        lambda: asyncio.StreamReaderProtocol(reader), pipe
    )
    try:
        while chunk := await reader.read(CHUNK_BYTES):
            output += chunk
            del output[: -2 * OUTPUT_BYTES]
    finally:
        transport.close()


def describe(checks: Sequence[Mapping[str, Any]]) -> str:
    """Return the checks as they would look in a terminal."""
    return "\n\n".join(f"$ {check['command']}\n(exit code {check['exit_code']})\n{check['output']}" for check in checks)
