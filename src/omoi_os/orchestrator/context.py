"""The context that every part of the orchestrator receives."""

from dataclasses import dataclass, field
from datetime import datetime, timedelta

from omoi_os.bus.base import Bus
from omoi_os.config import Settings
from omoi_os.db.base import Sessions
from omoi_os.db.clock import Clock
from omoi_os.masking import Masker
from omoi_os.orchestrator.jobs import Jobs
from omoi_os.orchestrator.own_health import Health
from omoi_os.orchestrator.provider_cache import Providers
from omoi_os.orchestrator.timers import Timers
from omoi_os.orchestrator.upkeep.storage_quotas import Quotas


@dataclass(frozen=True, slots=True)
class Context:
    """The connections, settings and state of one orchestrator process."""

    settings: Settings
    sessions: Sessions
    bus: Bus
    providers: Providers
    masker: Masker
    #: The number of its advisory lock, see `health.orchestrator_presence`.
    owner: int
    #: The installation's name: the label on every sandbox that it creates.
    installation: str
    jobs: Jobs = field(default_factory=Jobs)
    timers: Timers = field(default_factory=Timers)
    clock: Clock = field(default_factory=Clock)
    health: Health = field(default_factory=Health)
    quotas: Quotas = field(default_factory=Quotas)

    def now(self) -> datetime:
        """Return the database's time in UTC, so that all orchestrators use the same clock."""
        return self.clock.now()

    @property
    def backoff(self) -> timedelta:
        """Return the pause before a task's second attempt."""
        return timedelta(seconds=self.settings.retry_backoff_seconds)
