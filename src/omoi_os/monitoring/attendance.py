"""Notices when no orchestrator is running."""

from datetime import UTC, datetime, timedelta

from sqlalchemy.ext.asyncio import AsyncSession

from omoi_os.monitoring import repository, warnings
from omoi_os.monitoring.warnings import WarningOut
from omoi_os.orchestrator.presence import NAME as ORCHESTRATOR

#: How long after the start of this process an orchestrator may take to appear.
START = timedelta(seconds=15)

NO_ORCHESTRATOR = "no_orchestrator"


class Attendance:
    """Remembers, in one API process, since when no orchestrator was connected to the database."""

    def __init__(self, *, started_at: datetime | None = None) -> None:
        self._missing_since: datetime | None = started_at or datetime.now(UTC)
        self._warn_from = self._missing_since + START

    async def warnings(self, session: AsyncSession, *, now: datetime) -> list[WarningOut]:
        """Every warning of the platform, including the one that no orchestrator is running."""
        shown = await warnings.current(session, now=now)
        if await repository.connected_since(session, ORCHESTRATOR):
            self._missing_since = None
            return shown
        self._missing_since = self._missing_since or now
        if now < self._warn_from:
            return shown
        message = "no orchestrator is running, so no task starts or ends: start one with omoi orchestrator"
        missing = WarningOut(key=NO_ORCHESTRATOR, message=message, since=self._missing_since)
        return sorted([*shown, missing], key=lambda warning: warning.since)
