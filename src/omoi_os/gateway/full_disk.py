"""A full disk: what needs space, or leads to work that does, is held back instead of failing."""

from omoi_os.errors import DiskFull
from omoi_os.gateway.context import Parts
from omoi_os.system import disk

#: How long one call is held back. The client repeats it then.
HOLD_SECONDS = 60.0


async def wait_for_space(parts: Parts) -> None:
    """Hold a push or a model call back while the disk is full. Raises `DiskFull` after a while.

    Git on a full disk refuses a push, which an agent takes for the end. An agent whose model does not answer does
    nothing, so its sandbox waits.
    """
    settings = parts.settings
    path, floor = settings.data_dir, settings.min_free_gb
    if (await disk.wait_for_space(path, min_free_gb=floor, seconds=HOLD_SECONDS)).is_full:
        raise DiskFull(disk.space(path, min_free_gb=floor).describe())
