"""Files into a sandbox and out of it, whatever they are called."""

import re
import secrets
from datetime import timedelta

from daytona import AsyncSandbox

from omoi_os.errors import ProviderError
from omoi_os.providers.daytona import files, inside

_LIMIT = timedelta(seconds=60).total_seconds()

#: Daytona carries names in headers, some of its daemons unquoted; others than these go by a plain one.
_PLAIN = re.compile(r"[\w./+@=,~:-]+")

#: The home and the workspace may be two file systems.
_PLACE = """
import os, shutil, sys
given, path = sys.argv[1:]
os.makedirs(os.path.dirname(path), exist_ok=True)
beside = os.path.join(os.path.dirname(path), os.path.basename(given))
shutil.copyfile(given, beside)
os.unlink(given)
os.replace(beside, path)
"""
_COPY = "import shutil, sys; shutil.copyfile(*sys.argv[1:])"


async def write(sandbox: AsyncSandbox, python: str, path: str, content: bytes) -> None:
    """Put a file in its place, making its parents."""
    if len(content) > files.MAX_BYTES:
        raise ProviderError(f"The content for {path} is larger than {files.MAX_BYTES} bytes.")
    plain = path if _PLAIN.fullmatch(path) else f"{inside.STATE}/.file-{secrets.token_hex(8)}"
    await sandbox.fs.upload_file(content, plain)
    if plain != path:
        await _run(sandbox, [python, "-I", "-S", "-X", "utf8", "-c", _PLACE, plain, path])


async def read(sandbox: AsyncSandbox, python: str, path: str) -> bytes:
    """A file's content. Raises `FileNotFoundError`."""
    if _PLAIN.fullmatch(path):
        return await files.read(sandbox, path, limit=files.MAX_BYTES)
    if not await files.exists(sandbox, path):
        raise FileNotFoundError(2, "no such file in the sandbox", path)
    plain = f"{inside.STATE}/file-{secrets.token_hex(8)}"
    await _run(sandbox, [python, "-I", "-S", "-X", "utf8", "-c", _COPY, path, plain])
    try:
        return await files.read(sandbox, plain, limit=files.MAX_BYTES)
    finally:
        await sandbox.fs.delete_file(plain)


async def _run(sandbox: AsyncSandbox, argv: list[str]) -> None:
    result = await inside.run(sandbox, argv[0], argv, stdin=b"", cwd=None, seconds=_LIMIT)
    if result.exit_code != 0:
        said = result.stderr.decode(errors="replace").strip().rpartition("\n")[2][-200:]
        raise ProviderError(f"{argv[-1]!r} cannot be used in sandbox {sandbox.name}: {said}.")
