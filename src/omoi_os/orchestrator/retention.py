"""Prune: removes what has been kept for long enough, a little at a time."""

import logging
from functools import partial

from omoi_os.orchestrator.context import Context
from omoi_os.sandboxes.retention import prune_one

log = logging.getLogger(__name__)

PRUNE_SECONDS = 600.0


async def prune(context: Context) -> None:
    """Start removing what is too old, now and then; several orchestrators may do so side by side."""
    if context.watch.is_due("prune", every=PRUNE_SECONDS):
        context.jobs.start("prune", partial(_prune, context))


async def _prune(context: Context) -> None:
    """One sandbox after the other, each in a transaction of its own."""
    while True:
        async with context.sessions() as session, session.begin():
            pruned = await prune_one(session, now=context.now(), default_days=context.settings.retention_days)
        if pruned is None:
            return
        log.info("the events of sandbox %s were kept for long enough and are removed", pruned)
