"""Detect in the API's process that no orchestrator is running, or that the disk is almost full."""

from datetime import UTC, datetime, timedelta

from sqlalchemy.ext.asyncio import AsyncSession

from omoi_os.config import Settings
from omoi_os.health import warnings
from omoi_os.health.orchestrator_presence import NAME as ORCHESTRATOR
from omoi_os.health.orchestrator_presence import connected_since
from omoi_os.health.warnings import DISK_SPACE, WarningOut
from omoi_os.system import disk

#: How long after the start of this process an orchestrator may take to appear.
START = timedelta(seconds=15)

NO_ORCHESTRATOR = "no_orchestrator"


class Attendance:
    """Track in one API process since when no orchestrator has been connected to the database."""

    def __init__(self, settings: Settings | None = None, *, started_at: datetime | None = None) -> None:
        self._settings = settings
        self._low_since: datetime | None = None
        self._missing_since: datetime | None = started_at or datetime.now(UTC)
        self._warn_from = self._missing_since + START

    async def warnings(self, session: AsyncSession, *, now: datetime) -> list[WarningOut]:
        """Return every warning of the platform, including those that this process detects itself."""
        shown = self._with_disk(await warnings.current(session, now=now), now=now)
        if await connected_since(session, ORCHESTRATOR):
            self._missing_since = None
            return shown
        self._missing_since = self._missing_since or now
        if now < self._warn_from:
            return shown
        message = "no orchestrator is running, so no task starts or ends: start one with `omoi orchestrator`"
        missing = WarningOut(key=NO_ORCHESTRATOR, message=message, since=self._missing_since)
        return sorted([*shown, missing], key=lambda warning: warning.since)

    def _with_disk(self, shown: list[WarningOut], *, now: datetime) -> list[WarningOut]:
        """Add a warning if the disk is almost full, because an orchestrator may not be able to store one."""
        if self._settings is None:
            return shown
        found = disk.space(self._settings.data_dir, min_free_gb=self._settings.min_free_gb)
        reported = next((warning.since for warning in shown if warning.key == DISK_SPACE), None)
        if not found.is_low:
            self._low_since = None
            return shown
        self._low_since = reported or self._low_since or now
        mine = WarningOut(key=DISK_SPACE, message=found.describe(), since=self._low_since)
        others = [warning for warning in shown if warning.key != DISK_SPACE]
        return sorted([*others, mine], key=lambda warning: warning.since)
