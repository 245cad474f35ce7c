"""End the sandboxes that no orchestrator can reach, because none serves their site."""

import logging
from collections.abc import Sequence
from functools import partial

from sqlalchemy.dialects.postgresql import insert
from sqlalchemy.ext.asyncio import AsyncSession

from omoi_os.health import warnings
from omoi_os.health.orchestrator_presence import is_present
from omoi_os.orchestrator.context import Context
from omoi_os.orchestrator.recovery.teardown import finish
from omoi_os.orchestrator.served_sites import own_sites, serve_sites
from omoi_os.providers.base import EndReason, SandboxReport
from omoi_os.sandboxes import site_owners
from omoi_os.sandboxes.lifecycle import Purpose, SalvageState, SandboxState
from omoi_os.sandboxes.models import Sandbox, SandboxSalvage, Site
from omoi_os.tasks.lifecycle import TERMINAL
from omoi_os.tasks.models import Task

log = logging.getLogger(__name__)

KEY = "site_absent"
SERVE_SECONDS = 5.0
#: How long a site must be without an orchestrator before a sandbox there that is no longer needed counts as ended.
OVER_SECONDS = 30.0


async def attend_sites(context: Context) -> None:
    """Record the sites that this orchestrator serves, and end sandboxes of sites that were unserved for too long.

    Only time that this orchestrator has watched counts, so that every site has time to return after a restart.
    """
    if context.timers.is_due("sites", every=SERVE_SECONDS):
        await serve_sites(context)
    async with context.sessions() as session, session.begin():
        found = await site_owners.alive_elsewhere(session, own_sites(context))
        absent = {row.site: _mark(row, site) for row, _, site in found if not await _is_served(context, site)}
        await _report(session, context, [(row, site) for row, _, site in found if row.site in absent])
    absent_for = context.timers.lasting("absent sites", set(absent.values()))
    for row, task, site in found:
        if row.site not in absent:
            continue
        limit = OVER_SECONDS if _is_over(row, task) else context.settings.site_lost_after_seconds
        if absent_for[absent[row.site]] >= limit:
            context.jobs.start(f"end {row.id}", partial(_lose, context, row, site))


async def _report(session: AsyncSession, context: Context, absent: Sequence[tuple[Sandbox, Site | None]]) -> None:
    """Report a warning while sandboxes are out of reach, and clear it when there are none."""
    source = f"orchestrator {context.owner}"
    if not absent:
        await warnings.clear(session, key=KEY, source=source)
        return
    hosts = sorted({site.host if site else "an unknown machine" for _, site in absent})
    message = (
        f"no orchestrator serves the data folder of {len(absent)} sandboxes ({', '.join(hosts[:5])}): start one there,"
        f" or their tasks are retried elsewhere after {context.settings.site_lost_after_seconds:g} s"
    )
    await warnings.report(session, key=KEY, source=source, message=message, now=context.now())


def _mark(row: Sandbox, site: Site | None) -> str:
    """Return a key that changes when the site is served again."""
    return f"{row.site} {site.last_served_at if site else None}"


async def _is_served(context: Context, site: Site | None) -> bool:
    if site is None:
        return False
    async with context.sessions() as session, session.begin():
        return await is_present(session, site.owner)


def _is_over(row: Sandbox, task: Task | None) -> bool:
    """Return whether a sandbox is no longer needed."""
    if row.status == SandboxState.STOPPING or task is None:
        return row.status == SandboxState.STOPPING
    superseded = row.purpose == Purpose.WORK and row.fence != task.fence
    return task.status in TERMINAL or superseded


async def _lose(context: Context, row: Sandbox, site: Site | None) -> None:
    """Close the row of an unreachable sandbox. Its disk is salvaged if its site returns."""
    where = f"on {site.host}" if site else "on an unknown machine"
    since = f" since {site.last_served_at:%Y-%m-%d %H:%M %Z}" if site else ""
    reason = f"no orchestrator has served its data folder {where}{since}"
    log.warning("sandbox %s is lost: %s", row.id, reason)
    if row.purpose == Purpose.WORK and row.started_at is not None:
        kept = {"state": SalvageState.KEPT, "attempts": 0, "last_error": reason, "next_attempt_at": context.now()}
        async with context.sessions() as session, session.begin():
            new = insert(SandboxSalvage).values(sandbox_id=row.id, **kept)
            await session.execute(new.on_conflict_do_nothing())
    report = SandboxReport(alive=False, reason=EndReason.UNKNOWN, detail=reason)
    await finish(context, row, None, report)
