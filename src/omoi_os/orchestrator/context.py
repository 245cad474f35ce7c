"""What every part of the orchestrator works with."""

from dataclasses import dataclass, field
from datetime import datetime, timedelta

from omoi_os.bus.base import Bus
from omoi_os.config import Settings
from omoi_os.db.base import Sessions
from omoi_os.db.clock import Clock
from omoi_os.masking import Masker
from omoi_os.orchestrator.health import Health
from omoi_os.orchestrator.jobs import Jobs
from omoi_os.orchestrator.memory import Watch
from omoi_os.orchestrator.providers import Providers
from omoi_os.orchestrator.upkeep.quotas import Quotas


@dataclass(frozen=True, slots=True)
class Context:
    """One orchestrator's parts."""

    settings: Settings
    sessions: Sessions
    bus: Bus
    providers: Providers
    masker: Masker
    #: Its presence number.
    owner: int
    #: The installation's name: the label on every sandbox it makes.
    installation: str
    jobs: Jobs = field(default_factory=Jobs)
    watch: Watch = field(default_factory=Watch)
    clock: Clock = field(default_factory=Clock)
    health: Health = field(default_factory=Health)
    quotas: Quotas = field(default_factory=Quotas)

    def now(self) -> datetime:
        """The database's time, in UTC: every orchestrator judges by the same clock, whatever its own one says."""
        return self.clock.now()

    @property
    def backoff(self) -> timedelta:
        """The wait before a task's second attempt."""
        return timedelta(seconds=self.settings.retry_backoff_seconds)
