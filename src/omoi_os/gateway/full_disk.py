"""Delays calls that need disk space while the disk is full, instead of failing them."""

from omoi_os.gateway.context import Parts
from omoi_os.system import disk

#: How long one call is delayed. After that the client retries it.
HOLD_SECONDS = 60.0


async def wait_for_space(parts: Parts) -> None:
    """Delay a push or a model call while the disk is full. Raises `DiskFull` after `HOLD_SECONDS`.

    On a full disk git refuses pushes, and the agent would give up. Delayed model calls make the agent wait.
    """
    settings = parts.settings
    await disk.require_space(settings.data_dir, min_free_gb=settings.min_free_gb, seconds=HOLD_SECONDS)
