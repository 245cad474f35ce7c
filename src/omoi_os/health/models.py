"""The table of the platform's own warnings."""

from datetime import datetime

from sqlalchemy.orm import Mapped, mapped_column

from omoi_os.db.base import Base


class PlatformWarning(Base):
    """One condition that one process reports and that needs a person's attention."""

    __tablename__ = "platform_warnings"

    #: What is wrong, e.g. `disk_full`; the same for every process that reports it.
    key: Mapped[str] = mapped_column(primary_key=True)
    #: The reporter, e.g. `orchestrator 42` or a project's id.
    source: Mapped[str] = mapped_column(primary_key=True)
    message: Mapped[str]
    #: When it was first reported, and when it was last confirmed.
    since: Mapped[datetime]
    updated_at: Mapped[datetime] = mapped_column(index=True)
