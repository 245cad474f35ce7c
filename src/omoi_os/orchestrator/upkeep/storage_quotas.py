"""Measure the storage of projects and of the installation; no task starts where a quota is exceeded."""

import logging
from collections.abc import Mapping
from dataclasses import dataclass, field
from functools import partial
from typing import TYPE_CHECKING
from uuid import UUID

from sqlalchemy import text
from sqlalchemy.ext.asyncio import AsyncSession

from omoi_os.config import Settings
from omoi_os.health import warnings

if TYPE_CHECKING:
    from omoi_os.orchestrator.context import Context

log = logging.getLogger(__name__)

KEY = "storage_quota"
MEASURE_SECONDS = 120.0
_GIB = 1024**3

#: Adds up stored sizes without reading the values.
_STORED = """
SELECT project_id, sum(size)::int8 FROM (
    SELECT project_id, event_bytes AS size FROM sandboxes WHERE event_bytes > 0
    UNION ALL
    SELECT s.project_id, octet_length(b.content) FROM sandbox_blobs b JOIN sandboxes s ON s.id = b.sandbox_id
    UNION ALL
    SELECT s.project_id, t.size_bytes FROM session_transcripts t JOIN sandboxes s ON s.id = t.sandbox_id
) AS sizes GROUP BY project_id
"""


@dataclass(slots=True)
class Quotas:
    """The last measurement of one orchestrator."""

    #: Projects of which no task may start.
    full: frozenset[UUID] = frozenset()
    #: Whether no task may start at all.
    all_full: bool = False
    #: The size of each project's repository on this machine.
    repositories: dict[UUID, int] = field(default_factory=dict)

    def apply(self, stored: Mapping[UUID, int], settings: Settings) -> str | None:
        """Decide which projects exceed their quota; return a sentence about it, or None."""
        limit, total_limit = settings.project_storage_gb * _GIB, settings.storage_gb * _GIB
        self.full = frozenset(project for project, size in stored.items() if size >= limit)
        total = sum(stored.values()) + sum(self.repositories.values())
        self.all_full = total >= total_limit
        remedy = "delete projects, shorten retention_days"
        if self.all_full:
            return (
                f"stored data takes {total / _GIB:.1f} GB of {settings.storage_gb:g} GB (OMOI_STORAGE_GB), "
                f"so no task starts: {remedy} or raise the quota"
            )
        if self.full:
            project = min(self.full)
            more = f" and {len(self.full) - 1} more" if len(self.full) > 1 else ""
            return (
                f"the events, blobs and transcripts of project {project}{more} have reached their quota of "
                f"{settings.project_storage_gb:g} GB (OMOI_PROJECT_STORAGE_GB), so no task of it starts: shorten its "
                "retention_days or raise the quota"
            )
        return None


async def enforce_quotas(context: "Context") -> None:
    """Start a measurement every `MEASURE_SECONDS`."""
    if context.timers.is_due("quotas", every=MEASURE_SECONDS):
        context.jobs.start("measure storage", partial(measure, context))


async def measure(context: "Context") -> None:
    """Measure what each project stores, decide which exceed their quota, and report it."""
    source = f"orchestrator {context.owner}"
    async with context.sessions() as session, session.begin():
        sentence = context.quotas.apply(await stored_bytes(session), context.settings)
        if sentence is None:
            await warnings.clear(session, key=KEY, source=source)
            return
        await warnings.report(session, key=KEY, source=source, message=sentence, now=context.now())
    log.warning("%s", sentence)


async def stored_bytes(session: AsyncSession) -> dict[UUID, int]:
    """Return the bytes of each project's events, blobs and transcripts."""
    return {row[0]: row[1] for row in await session.execute(text(_STORED))}
