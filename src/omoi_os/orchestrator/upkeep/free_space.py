"""Measure free disk space: while the data folder's disk is almost full, no task is claimed and a warning says so."""

import logging

from omoi_os.health import warnings
from omoi_os.health.warnings import DISK_SPACE
from omoi_os.orchestrator.context import Context
from omoi_os.system import disk
from omoi_os.system.disk import Space

log = logging.getLogger(__name__)

#: How often a warning is confirmed while its condition lasts.
CONFIRM_SECONDS = 30.0


def measure(context: Context) -> Space:
    """Measure the disk of the data folder."""
    return disk.space(context.settings.data_dir, min_free_gb=context.settings.min_free_gb)


async def has_free_space(context: Context) -> bool:
    """Return whether new work may start. Report a lack of space, and clear the warning when there is space again."""
    found = measure(context)
    state = "low" if found.is_low else "enough"
    if context.timers.lasting("disk", {state})[state] == 0:
        if found.is_low:
            log.warning("%s", found.describe())
        await _report(context, found)
    return not found.is_low


async def confirm_free_space(context: Context) -> None:
    """Confirm the warning, or that there is none, every `CONFIRM_SECONDS`."""
    if context.timers.is_due("report disk", every=CONFIRM_SECONDS):
        await _report(context, measure(context))


async def _report(context: Context, found: Space) -> None:
    source = f"orchestrator {context.owner}"
    try:
        async with context.sessions() as session, session.begin():
            if found.is_low:
                message = found.describe()
                await warnings.report(session, key=DISK_SPACE, source=source, message=message, now=context.now())
            else:
                await warnings.clear(session, key=DISK_SPACE, source=source)
    except Exception as error:
        # The database may be on the same disk. The API measures that disk itself.
        if not disk.is_disk_full(error):
            raise
        log.warning("the warning about the disk could not be stored, because the disk is full")
