"""Tables of users, their API keys and their browsers."""

from datetime import datetime
from enum import StrEnum
from uuid import UUID

from sqlalchemy import ForeignKey, func
from sqlalchemy.orm import Mapped, mapped_column

from omoi_os.db.base import Base
from omoi_os.ids import uuid7


class Role(StrEnum):
    """What a user may do."""

    ADMIN = "admin"  #: sees and manages everything
    MEMBER = "member"  #: sees what they own


class Scope(StrEnum):
    """What a key or session may do of what its user may."""

    READ = "read"  #: only reads
    WRITE = "write"  #: everything but what takes an administrator
    ADMIN = "admin"  #: everything that the user may do


class User(Base):
    """A person, or a program that acts like one."""

    __tablename__ = "users"

    id: Mapped[UUID] = mapped_column(primary_key=True, default=uuid7)
    email: Mapped[str] = mapped_column(unique=True)
    name: Mapped[str]
    role: Mapped[str]
    created_at: Mapped[datetime] = mapped_column(server_default=func.now())
    #: Since when none of their keys and sessions works.
    deactivated_at: Mapped[datetime | None]

    #: Whether the key or session of this request may do what takes an administrator. Not stored.
    may_administer = True

    @property
    def is_admin(self) -> bool:
        """Whether this request may do what takes an administrator."""
        return self.role == Role.ADMIN and self.may_administer


class ApiKey(Base):
    """A user's key; only its hash is kept."""

    __tablename__ = "api_keys"

    id: Mapped[UUID] = mapped_column(primary_key=True, default=uuid7)
    user_id: Mapped[UUID] = mapped_column(ForeignKey("users.id"), index=True)
    name: Mapped[str]
    key_hash: Mapped[str] = mapped_column(unique=True)
    last_four: Mapped[str]
    #: A `Scope`; None and `full`, of older keys, mean `admin`.
    scope: Mapped[str | None]
    expires_at: Mapped[datetime | None]
    revoked_at: Mapped[datetime | None]
    #: Where the installation has it from: a setting, or a data folder. None for keys that were created over HTTP.
    source: Mapped[str | None]
    #: When the installation's token was replaced by another one, which revoked this key.
    replaced_at: Mapped[datetime | None]
    created_at: Mapped[datetime] = mapped_column(server_default=func.now())


class SignInCode(Base):
    """The code of a sign-in link; only its hash is kept, and it opens one session."""

    __tablename__ = "sign_in_codes"

    code_hash: Mapped[str] = mapped_column(primary_key=True)
    user_id: Mapped[UUID] = mapped_column(ForeignKey("users.id"))
    created_at: Mapped[datetime] = mapped_column(server_default=func.now())
    expires_at: Mapped[datetime] = mapped_column(index=True)
    used_at: Mapped[datetime | None]


class BrowserSession(Base):
    """A signed-in browser; only the hash of its cookie is kept."""

    __tablename__ = "browser_sessions"

    id: Mapped[UUID] = mapped_column(primary_key=True, default=uuid7)
    user_id: Mapped[UUID] = mapped_column(ForeignKey("users.id"), index=True)
    token_hash: Mapped[str] = mapped_column(unique=True)
    created_at: Mapped[datetime] = mapped_column(server_default=func.now())
    #: To the hour; it is not written on every request.
    last_seen: Mapped[datetime] = mapped_column(server_default=func.now())
    expires_at: Mapped[datetime] = mapped_column(index=True)
    revoked_at: Mapped[datetime | None]
    #: The key that opened it, whose scope it has and with which it ends; None after signing in by a link.
    api_key_id: Mapped[UUID | None] = mapped_column(ForeignKey("api_keys.id"))
    scope: Mapped[str | None]


class IdempotentRequest(Base):
    """A creation that was answered under an `Idempotency-Key`; the same key gets the same answer."""

    __tablename__ = "idempotent_requests"

    user_id: Mapped[UUID] = mapped_column(ForeignKey("users.id"), primary_key=True)
    key: Mapped[str] = mapped_column(primary_key=True)
    fingerprint: Mapped[str]
    status_code: Mapped[int | None]
    body: Mapped[str | None]
    created_at: Mapped[datetime] = mapped_column(server_default=func.now(), index=True)
