"""Files inside a sandbox, over Daytona's file calls."""

from daytona import AsyncSandbox, DaytonaNotFoundError

from omoi_os.errors import ProviderError
from omoi_os.protocol import paths
from omoi_os.providers.guest.files import locate


def check_path(path: str) -> str:
    """Return the path. Raises `ProviderError` unless it is that of a file under the home or the workspace."""
    try:
        locate(path, (paths.HOME, paths.WORKSPACE))
    except ValueError as error:
        raise ProviderError(f"{error}.") from None
    return path


async def read(sandbox: AsyncSandbox, path: str, *, limit: int) -> bytes:
    """Return a file's content. Raises `FileNotFoundError`, `ProviderError`, and the errors of the SDK."""
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
    """Return whether there is a file or folder of that name."""
    try:
        await sandbox.fs.get_file_info(path)
    except DaytonaNotFoundError:
        return False
    return True
