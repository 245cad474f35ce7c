"""Calling the guest in a sandbox, over Daytona's process and file calls."""

import asyncio
import base64
import binascii
import json
import math
import secrets
import shlex
from collections.abc import Mapping, Sequence
from typing import Any

from daytona import AsyncSandbox, DaytonaError, DaytonaTimeoutError, FileUpload

from omoi_os.errors import ProviderError, ProviderUnavailable
from omoi_os.protocol import paths
from omoi_os.providers.base import ExecResult, SandboxSpec
from omoi_os.providers.daytona import files
from omoi_os.providers.guest import bundle

#: The folder of the guest's documents. An agent that changes them deceives about its own sandbox only. Not renamed:
#: sandboxes of an earlier release, which may outlive an upgrade, have theirs here.
STATE = f"{paths.HOME}/.omoi/holder"
START = f"{STATE}/start.json"
END = f"{STATE}/end.json"
PLACES = (paths.HOME, paths.WORKSPACE)

#: How much of each output is kept, from its beginning and from its end.
OUTPUT_BYTES = 4 * 1024 * 1024

#: How much longer than its command the guest may take.
GRACE_SECONDS = 15.0

#: Longer requests are uploaded: an argument may have at most 128 KiB.
_INLINE_BYTES = 32 * 1024
#: Longer outputs are downloaded.
_INLINE_OUTPUT_BYTES = 1024 * 1024


class GuestFailed(ProviderError):
    """The guest failed, or there is no interpreter for it."""


def command(python: str, mode: str, document: str, *, mark: str = "-") -> str:
    """Return a command line that a shell reads like older daemons, which only split at blanks."""
    return f"{shlex.quote(python)} -I -S -X utf8 -c '{bundle.boot_code()}' {mode} {document} {mark}"


def document(request: Mapping[str, Any]) -> str:
    """Encode a request as a word of the command line."""
    return base64.urlsafe_b64encode(json.dumps(request).encode()).decode()


def start_document(spec: SandboxSpec, *, memory_bytes: int) -> bytes:
    """Return what the guest needs for the first process and for every later command."""
    first = {"argv": list(spec.argv), "env": dict(spec.env), "cwd": paths.WORKSPACE}
    limits = {"lifetime": spec.lifetime.total_seconds(), "memory_bytes": memory_bytes}
    return json.dumps({**first, **limits, "places": PLACES}).encode()


async def ask(
    sandbox: AsyncSandbox, python: str, mode: str, request: Mapping[str, Any], *, seconds: float = 30, mark: str = "-"
) -> dict[str, Any]:
    """Call the guest and return its answer. Raises `GuestFailed`, and the errors of the SDK."""
    word = document(request)
    if len(word) > _INLINE_BYTES:
        word = f"@{STATE}/request-{secrets.token_hex(8)}"
        await sandbox.fs.upload_file(json.dumps(request).encode(), word[1:])
    response = await sandbox.process.exec(command(python, mode, word, mark=mark), timeout=math.ceil(seconds))
    if response.exit_code != 0:
        answered = " ".join(response.result[-300:].split())
        raise GuestFailed(f"Nothing can be run in sandbox {sandbox.name} with {python}: {answered or 'no answer'}.")
    return answer(response.result, sandbox.name)


async def run(
    sandbox: AsyncSandbox, python: str, argv: Sequence[str], *, stdin: bytes, cwd: str | None, seconds: float
) -> ExecResult:
    """Run a command to its end, as a separate process tree. Raises `TimeoutError`."""
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
        answered = await ask(sandbox, python, "run", request, seconds=seconds + GRACE_SECONDS, mark=mark)
    except asyncio.CancelledError:
        await asyncio.shield(_stop(sandbox, python, mark))
        raise
    except DaytonaError as error:
        if not isinstance(error, DaytonaTimeoutError) and error.status_code != 408:
            raise
        if not await _stop(sandbox, python, mark):
            raise ProviderUnavailable(f"A command in sandbox {sandbox.name} hangs and cannot be killed.") from error
        answered = {"timeout": True}
    if answered.get("timeout") is True:
        raise TimeoutError(f"{argv[0]} ran longer than {seconds:g} s and was killed with all its processes.")
    if answered.get("stopped") is True or answered.get("dead") is not True:
        raise ProviderError(f"{argv[0]} was ended in sandbox {sandbox.name} before it finished.")
    return await _result(sandbox, answered, str(request["output"]))


async def _stop(sandbox: AsyncSandbox, python: str, mark: str) -> bool:
    """End the command with this mark. Return whether it is known to be gone."""
    try:
        answered = await ask(sandbox, python, "stop", {"mark": mark})
    except (DaytonaError, ProviderError):
        return False
    return answered.get("dead") is True


async def _result(sandbox: AsyncSandbox, answered: Mapping[str, Any], output: str) -> ExecResult:
    try:
        if answered["all"] is None:
            content = await files.read(sandbox, output, limit=4 * OUTPUT_BYTES)
            await sandbox.fs.delete_file(output)
        else:
            content = base64.b64decode(answered["all"], validate=True)
        size = int(answered["out_size"])
        return ExecResult(int(answered["exit"]), content[:size], content[size:], bool(answered["cut"]))
    except (KeyError, TypeError, ValueError, FileNotFoundError, binascii.Error):
        raise GuestFailed(f"Sandbox {sandbox.name} gave an answer that cannot be read.") from None


def answer(text: str, name: str) -> dict[str, Any]:
    """Parse what the guest wrote. It comes out of a sandbox, so it may be anything."""
    try:
        answered = json.loads(text)
    except ValueError:
        answered = None
    if not isinstance(answered, dict):
        raise GuestFailed(f"Sandbox {name} gave an answer that cannot be read.")
    return answered
