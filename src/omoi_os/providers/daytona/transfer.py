"""Files into a sandbox and out of it, whatever their names are."""

import re
import secrets
from collections.abc import Mapping
from datetime import timedelta

from daytona import AsyncSandbox

from omoi_os.errors import ProviderError
from omoi_os.providers.daytona import files, guest_calls
from omoi_os.providers.guest.files import MAX_BYTES

_LIMIT = timedelta(seconds=60).total_seconds()

#: Daytona sends names in headers, and some of its daemons do not quote them: other names are transferred under a plain
#: one, and the guest moves the file.
_PLAIN = re.compile(r"[\w./+@=,~:-]+")


async def write(sandbox: AsyncSandbox, python: str, path: str, content: bytes) -> None:
    """Write a file, creating its parents."""
    if len(content) > MAX_BYTES:
        raise ProviderError(f"The content for {path} is larger than {MAX_BYTES} bytes.")
    plain = path if _PLAIN.fullmatch(path) else f"{guest_calls.STATE}/.file-{secrets.token_hex(8)}"
    await sandbox.fs.upload_file(content, plain)
    if plain != path:
        await _ask(sandbox, python, "place", {"source": plain, "path": path})


async def read(sandbox: AsyncSandbox, python: str, path: str) -> bytes:
    """Return a file's content. Raises `FileNotFoundError`."""
    if _PLAIN.fullmatch(path):
        return await files.read(sandbox, path, limit=MAX_BYTES)
    if not await files.exists(sandbox, path):
        raise FileNotFoundError(2, "no such file in the sandbox", path)
    plain = f"{guest_calls.STATE}/file-{secrets.token_hex(8)}"
    await _ask(sandbox, python, "copy", {"path": path, "target": plain})
    try:
        return await files.read(sandbox, plain, limit=MAX_BYTES)
    finally:
        await sandbox.fs.delete_file(plain)


async def _ask(sandbox: AsyncSandbox, python: str, mode: str, request: Mapping[str, str]) -> None:
    document = {**request, "places": guest_calls.PLACES}
    answer = await guest_calls.ask(sandbox, python, mode, document, seconds=_LIMIT)
    if answer.get("error") is not None:
        raise ProviderError(f"{request['path']!r} cannot be used in sandbox {sandbox.name}: {answer['error']}.")
