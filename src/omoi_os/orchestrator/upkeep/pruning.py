"""Delete data beyond its retention, in small transactions."""

import logging
from datetime import timedelta
from functools import partial

from omoi_os.accounts import repository as accounts
from omoi_os.audit import repository as audit
from omoi_os.health import warnings
from omoi_os.orchestrator.context import Context
from omoi_os.orchestrator.upkeep.prepared_checkouts import remove_unfinished
from omoi_os.sandboxes.retention import next_to_prune, prune_one
from omoi_os.stream.retention import prune as prune_outbox

log = logging.getLogger(__name__)

#: How often the data of ended sandboxes is pruned, and how often the outbox, which grows with every change.
PRUNE_SECONDS = 600.0
PRUNE_STREAM_SECONDS = 60.0
#: Stored answers for idempotency keys: clients retry within minutes, not days.
ANSWERS_KEPT = timedelta(days=7)
AUDIT_KEPT = timedelta(days=365)
#: Rows that one transaction deletes.
BATCH = 1_000


async def prune(context: Context) -> None:
    """Start pruning when it is due. Several orchestrators may prune at the same time."""
    if context.timers.is_due("prune", every=PRUNE_SECONDS):
        context.jobs.start("prune", partial(_prune, context))
    if context.timers.is_due("prune the stream", every=PRUNE_STREAM_SECONDS):
        context.jobs.start("prune the stream", partial(_prune_stream, context))


async def _prune(context: Context) -> None:
    with context.health.isolated("pruning old sandboxes"):
        await prune_sandboxes(context)
    with context.health.isolated("pruning old records"):
        await prune_records(context)
    await remove_unfinished(context)


async def prune_sandboxes(context: Context) -> None:
    """Prune one sandbox after the other, each in its own transaction; failures are retried the next time."""
    tried: set[str] = set()
    days = context.settings.retention_days
    while True:
        async with context.sessions() as session, session.begin():
            found = await next_to_prune(session, now=context.now(), default_days=days, without=tried)
        if found is None:
            return
        tried.add(found)
        with context.health.isolated(f"pruning sandbox {found}"):
            async with context.sessions() as session, session.begin():
                await prune_one(session, found, now=context.now())
            log.info("sandbox %s is beyond its retention; its data was deleted", found)


async def prune_records(context: Context) -> None:
    """Delete old answers for idempotency keys, old audit entries and stale warnings."""
    deleted = BATCH
    while deleted == BATCH:
        async with context.sessions() as session, session.begin():
            deleted = await accounts.delete_answers(session, before=context.now() - ANSWERS_KEPT, limit=BATCH)
    async with context.sessions() as session, session.begin():
        await audit.delete_before(session, context.now() - AUDIT_KEPT)
        await warnings.delete_stale(session, now=context.now())


async def _prune_stream(context: Context) -> None:
    """Delete changes that are too old to resume a stream from."""
    age = timedelta(hours=context.settings.stream_retention_hours)
    await prune_outbox(context.sessions, before=context.now() - age)
