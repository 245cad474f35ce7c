"""Asking the holder inside a sandbox, over Daytona's process and file calls."""

import asyncio
import base64
import binascii
import json
import math
import secrets
import shlex
import zlib
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from daytona import AsyncSandbox, DaytonaError, DaytonaTimeoutError, FileUpload

from omoi_os.errors import ProviderError, ProviderUnavailable
from omoi_os.protocol import paths
from omoi_os.providers.base import ExecResult, SandboxSpec
from omoi_os.providers.daytona import files, holder

#: Where the holder's documents are. The agent can change them, and so deceive about its own sandbox only.
STATE = f"{paths.HOME}/.omoi/holder"
START = f"{STATE}/start.json"
END = f"{STATE}/end.json"
PLACES = (paths.HOME, paths.WORKSPACE)

#: How much of each output is kept, from its beginning and from its end.
OUTPUT_BYTES = 4 * 1024 * 1024

#: How much longer than its command the holder may take.
GRACE_SECONDS = 15.0

#: Longer requests go by a file: an argument may have 128 KiB.
_INLINE_BYTES = 32 * 1024
#: Longer outputs come back by a file.
_INLINE_OUTPUT_BYTES = 1024 * 1024

_SOURCE = base64.b64encode(zlib.compress(Path(holder.__file__).read_bytes(), 9)).decode()


class HolderFailed(ProviderError):
    """The holder could not do its work, or there is no interpreter for it."""


def command(python: str, mode: str, document: str, *, mark: str = "-") -> str:
    """A command line that says the same to a shell as to the older daemons, which only split at blanks."""
    boot = f'import base64,zlib;exec(zlib.decompress(base64.b64decode("{_SOURCE}")))'
    return f"{shlex.quote(python)} -I -S -X utf8 -c '{boot}' {mode} {document} {mark}"


def document(request: Mapping[str, Any]) -> str:
    """A request as a word of the command line."""
    return base64.urlsafe_b64encode(json.dumps(request).encode()).decode()


def start_document(spec: SandboxSpec, *, memory_bytes: int) -> bytes:
    """What the holder needs to know of the first process and of every later command."""
    first = {"argv": list(spec.argv), "env": dict(spec.env), "cwd": paths.WORKSPACE}
    limits = {"lifetime": spec.lifetime.total_seconds(), "memory_bytes": memory_bytes}
    return json.dumps({**first, **limits, "places": PLACES}).encode()


async def ask(
    sandbox: AsyncSandbox, python: str, mode: str, request: Mapping[str, Any], *, seconds: float = 30, mark: str = "-"
) -> dict[str, Any]:
    """Have the holder do something and give its answer. Raises `HolderFailed`, and what the SDK raises."""
    word = document(request)
    if len(word) > _INLINE_BYTES:
        word = f"@{STATE}/request-{secrets.token_hex(8)}"
        await sandbox.fs.upload_file(json.dumps(request).encode(), word[1:])
    response = await sandbox.process.exec(command(python, mode, word, mark=mark), timeout=math.ceil(seconds))
    if response.exit_code != 0:
        said = " ".join(response.result[-300:].split())
        raise HolderFailed(f"Nothing can be run in sandbox {sandbox.name} with {python}: {said or 'no answer'}.")
    return answer(response.result, sandbox.name)


async def run(
    sandbox: AsyncSandbox, python: str, argv: Sequence[str], *, stdin: bytes, cwd: str | None, seconds: float
) -> ExecResult:
    """Run a command to its end in its own tree of processes."""
    mark = secrets.token_hex(8)
    request = {
        "argv": list(argv),
        "cwd": cwd or paths.WORKSPACE,
        "stdin": f"{STATE}/stdin-{mark}" if stdin else None,
        "timeout": seconds,
        "keep": OUTPUT_BYTES,
        "inline": _INLINE_OUTPUT_BYTES,
        "output": f"{STATE}/output-{mark}",
        "start": START,
    }
    if stdin:
        await sandbox.fs.upload_files([FileUpload(source=stdin, destination=f"{STATE}/stdin-{mark}")])
    try:
        said = await ask(sandbox, python, "run", request, seconds=seconds + GRACE_SECONDS, mark=mark)
    except asyncio.CancelledError:
        await asyncio.shield(_stop(sandbox, python, mark))
        raise
    except DaytonaError as error:
        if not isinstance(error, DaytonaTimeoutError) and error.status_code != 408:
            raise
        if not await _stop(sandbox, python, mark):
            raise ProviderUnavailable(f"A command in sandbox {sandbox.name} hangs and cannot be ended.") from error
        said = {"timeout": True}
    if said.get("timeout") is True:
        raise TimeoutError(f"{argv[0]} ran longer than {seconds:g} s and was killed with all that it had started.")
    if said.get("stopped") is True or said.get("dead") is not True:
        raise ProviderError(f"{argv[0]} did not come to its end in sandbox {sandbox.name}.")
    return await _result(sandbox, said, str(request["output"]))


async def _stop(sandbox: AsyncSandbox, python: str, mark: str) -> bool:
    """End what runs under this mark; whether it is known to be gone."""
    try:
        said = await ask(sandbox, python, "stop", {"mark": mark})
    except (DaytonaError, ProviderError):
        return False
    return said.get("dead") is True


async def _result(sandbox: AsyncSandbox, said: Mapping[str, Any], output: str) -> ExecResult:
    try:
        if said["all"] is None:
            content = await files.read(sandbox, output, limit=4 * OUTPUT_BYTES)
            await sandbox.fs.delete_file(output)
        else:
            content = base64.b64decode(said["all"], validate=True)
        size = int(said["out_size"])
        return ExecResult(int(said["exit"]), content[:size], content[size:], bool(said["cut"]))
    except (KeyError, TypeError, ValueError, FileNotFoundError, binascii.Error):
        raise HolderFailed(f"Sandbox {sandbox.name} gave an answer that makes no sense.") from None


def answer(text: str, name: str) -> dict[str, Any]:
    """What the holder wrote. It comes out of a sandbox: anything may be in it."""
    try:
        said = json.loads(text)
    except ValueError:
        said = None
    if not isinstance(said, dict):
        raise HolderFailed(f"Sandbox {name} gave an answer that makes no sense.")
    return said
