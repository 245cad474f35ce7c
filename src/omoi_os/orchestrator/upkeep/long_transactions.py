"""Report transactions that delay the stream: a change is delivered only when every older transaction has ended."""

import logging

from omoi_os.health import warnings
from omoi_os.orchestrator.context import Context
from omoi_os.stream import open_transactions

log = logging.getLogger(__name__)

#: How long a transaction of our database may be open before it is reported.
LONG_SECONDS = 10.0
CHECK_SECONDS = 5.0
KEY = "long_transaction"


async def report_long_transactions(context: Context, *, long_seconds: float = LONG_SECONDS) -> None:
    """Report transactions of our database that have been open for too long; clear the warning when they end."""
    if not context.timers.is_due("transactions", every=CHECK_SECONDS):
        return
    async with context.sessions() as session, session.begin():
        found = await open_transactions.long_transactions(await session.connection(), seconds=long_seconds)
        open_for = context.timers.lasting("open transactions", {each.xid for each in found})
        long = [each for each in found if each.since is not None or open_for[each.xid] >= long_seconds]
        reported_for = context.timers.lasting("reported transactions", {each.xid for each in long})
        for each in long:
            if not reported_for[each.xid]:
                log.warning("%s", each.describe())
        source = f"orchestrator {context.owner}"
        if long:
            more = f" ({len(long) - 1} more)" if len(long) > 1 else ""
            message = f"{long[0].describe()}{more}"
            await warnings.report(session, key=KEY, source=source, message=message, now=context.now())
        else:
            await warnings.clear(session, key=KEY, source=source)
