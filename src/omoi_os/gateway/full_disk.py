"""Delays calls that need disk space while the disk is full, instead of failing them."""

from omoi_os.errors import DiskFull
from omoi_os.gateway.context import Parts
from omoi_os.system import disk

#: How long one call is delayed. After that the client retries it.
HOLD_SECONDS = 60.0


async def wait_for_space(parts: Parts) -> None:
    """Delay a push or a model call while the disk is full. Raises `DiskFull` after `HOLD_SECONDS`.

    On a full disk git refuses pushes, and the agent would give up. Delayed model calls make the agent wait.
    """
    settings = parts.settings
    path, floor = settings.data_dir, settings.min_free_gb
    if (await disk.wait_for_space(path, min_free_gb=floor, seconds=HOLD_SECONDS)).is_full:
        raise DiskFull(disk.space(path, min_free_gb=floor).describe())
