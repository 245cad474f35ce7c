"""Files inside a sandbox, over Daytona's file calls."""

from pathlib import PurePosixPath

from daytona import AsyncSandbox, DaytonaNotFoundError

from omoi_os.errors import ProviderError
from omoi_os.protocol import paths

#: The largest file that is read or written this way.
MAX_BYTES = 64 * 1024 * 1024


def check_path(path: str) -> str:
    """The path itself. Raises `ProviderError` unless it is a file's under the home or the workspace."""
    for place in (paths.HOME, paths.WORKSPACE):
        if path.startswith(f"{place}/") and "\0" not in path:
            parts = PurePosixPath(path[len(place) + 1 :]).parts
            if parts and parts[0] != "/" and ".." not in parts:
                return path
    raise ProviderError(f"{path!r} is not a file's path under {paths.HOME} or {paths.WORKSPACE}.")


async def read(sandbox: AsyncSandbox, path: str, *, limit: int) -> bytes:
    """A file's content. Raises `FileNotFoundError`, `ProviderError`, and what the SDK raises."""
    try:
        info = await sandbox.fs.get_file_info(path)
    except DaytonaNotFoundError:
        raise FileNotFoundError(2, "no such file in the sandbox", path) from None
    if info.is_dir:
        raise ProviderError(f"{path} is not a plain file.")
    if not info.size:
        return b""
    content = bytearray()
    async for chunk in await sandbox.fs.download_file_stream(path):
        content += chunk
        if len(content) > limit:
            raise ProviderError(f"{path} is larger than {limit} bytes.")
    return bytes(content)


async def exists(sandbox: AsyncSandbox, path: str) -> bool:
    """Whether there is anything of that name."""
    try:
        await sandbox.fs.get_file_info(path)
    except DaytonaNotFoundError:
        return False
    return True
