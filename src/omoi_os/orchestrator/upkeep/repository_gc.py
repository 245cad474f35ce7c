"""Maintenance of the local forge's repositories: now and then, one after the other, at low priority."""

import asyncio
import contextlib
import logging
from datetime import timedelta
from functools import partial
from pathlib import Path
from uuid import UUID

from omoi_os.errors import ForgeError
from omoi_os.forges.bare import gc
from omoi_os.forges.local.forge import LocalForge
from omoi_os.orchestrator.context import Context

log = logging.getLogger(__name__)

MAINTAIN_SECONDS = 900.0
#: How long replaced history is kept at least; always longer than a sandbox lives that may have borrowed it.
MIN_GRACE = timedelta(days=1)


async def maintain(context: Context) -> None:
    """Start collecting garbage; several orchestrators may do so side by side."""
    if context.watch.is_due("maintain", every=MAINTAIN_SECONDS):
        context.jobs.start("maintain repositories", partial(collect_garbage, context))


async def collect_garbage(context: Context) -> None:
    """Collect the garbage of each repository for which that is worth it. One that fails does not stop the others."""
    forge = LocalForge(context.settings.repositories_dir)
    settings = context.settings
    lifetime = timedelta(seconds=settings.sandbox_lifetime_seconds)
    # The disk of a sandbox whose work could not be saved may be kept for longer than it lived.
    grace = max(MIN_GRACE, 2 * lifetime, lifetime + timedelta(hours=settings.salvage_keep_hours))
    for git_dir in await asyncio.to_thread(_repositories, forge.root):
        try:
            left = await gc.collect(git_dir, checkouts=forge.checkouts_of(git_dir), grace=grace)
        except (ForgeError, OSError) as error:
            log.warning("the repository %s could not be maintained: %s", git_dir.name, error)
            continue
        with contextlib.suppress(ForgeError, ValueError):
            size = (left or await gc.measure(git_dir)).size
            context.quotas.repositories[UUID(git_dir.stem)] = size
        if left is not None:
            log.info("repository %s: collected garbage, %d MB are left", git_dir.name, left.size >> 20)


def _repositories(root: Path) -> list[Path]:
    return sorted(path for path in root.glob("*.git") if path.is_dir())
