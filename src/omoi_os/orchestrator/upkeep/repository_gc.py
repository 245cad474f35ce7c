"""Garbage collection of the mirrors on this machine: periodically, one after the other, at low priority."""

import asyncio
import contextlib
import logging
from datetime import timedelta
from functools import partial
from uuid import UUID

from omoi_os.errors import ForgeError
from omoi_os.forges.bare import gc
from omoi_os.forges.bare.layout import checkouts_of, repositories_in
from omoi_os.orchestrator.context import Context

log = logging.getLogger(__name__)

MAINTAIN_SECONDS = 900.0
#: The shortest time for which replaced history is kept; always longer than the lifetime of a sandbox that may use it.
MIN_GRACE = timedelta(days=1)


async def maintain(context: Context) -> None:
    """Start collecting garbage; several orchestrators may do so side by side."""
    if context.timers.is_due("maintain", every=MAINTAIN_SECONDS):
        context.jobs.start("maintain repositories", partial(collect_garbage, context))


async def collect_garbage(context: Context) -> None:
    """Collect the garbage of each mirror that is due. A failure on one does not stop the others."""
    settings = context.settings
    lifetime = timedelta(seconds=settings.sandbox_lifetime_seconds)
    # A sandbox whose work could not be saved may keep its disk for longer than its lifetime.
    grace = max(MIN_GRACE, 2 * lifetime, lifetime + timedelta(hours=settings.salvage_keep_hours))
    for mirror in await asyncio.to_thread(repositories_in, settings.repositories_dir):
        try:
            left = await gc.collect(mirror, checkouts=checkouts_of(mirror), grace=grace)
        except (ForgeError, OSError) as error:
            log.warning("repository %s could not be maintained: %s", mirror.name, error)
            continue
        with contextlib.suppress(ForgeError, ValueError):
            size = (left or await gc.measure(mirror)).size
            context.quotas.repositories[UUID(mirror.stem)] = size
        if left is not None:
            log.info("repository %s: collected garbage, %d MB remain", mirror.name, left.size >> 20)
