"""The table of credentials."""

from datetime import datetime
from uuid import UUID

from sqlalchemy import ForeignKey, Index, false, func, text
from sqlalchemy.orm import Mapped, mapped_column

from omoi_os.db.base import Base
from omoi_os.ids import uuid7


class Credential(Base):
    """A secret of one person, encrypted. A shared one is the installation's."""

    __tablename__ = "credentials"
    __table_args__ = (
        Index(
            "uq_credentials_default",
            "user_id",
            "used_for",
            unique=True,
            postgresql_where=text("is_default AND NOT shared"),
        ),
        Index(
            "uq_credentials_shared_default",
            "used_for",
            unique=True,
            postgresql_where=text("is_default AND shared"),
        ),
    )

    id: Mapped[UUID] = mapped_column(primary_key=True, default=uuid7)
    #: The owner. For a shared credential, the administrator who added it.
    user_id: Mapped[UUID] = mapped_column(ForeignKey("users.id"), index=True)
    provider: Mapped[str]
    #: `model`, `github`, or `git` and the host: there is one default for each.
    used_for: Mapped[str]
    name: Mapped[str]
    #: The host of a model or of git; None for the host that the settings name.
    base_url: Mapped[str | None]
    #: The model that calls with this credential use; None for the task's.
    model: Mapped[str | None]
    #: The user name for a git host.
    username: Mapped[str | None]
    #: The public keys of a git host, in the format of OpenSSH's `known_hosts`.
    known_hosts: Mapped[str | None]
    is_default: Mapped[bool]
    shared: Mapped[bool] = mapped_column(default=False, server_default=false())
    last_four: Mapped[str]
    #: The key that encrypted it, and the encrypted secret.
    key_id: Mapped[str]
    nonce: Mapped[bytes]
    ciphertext: Mapped[bytes]
    checked_at: Mapped[datetime | None]
    check: Mapped[str | None]
    last_used_at: Mapped[datetime | None]
    created_at: Mapped[datetime] = mapped_column(server_default=func.now())
