"""Tables of users, API keys and browser sessions."""

from datetime import datetime
from enum import StrEnum
from uuid import UUID

from sqlalchemy import ForeignKey, func
from sqlalchemy.orm import Mapped, mapped_column

from omoi_os.db.base import Base
from omoi_os.ids import uuid7
from omoi_os.visibility import Role


class Scope(StrEnum):
    """How far a key or session may use the rights of its user."""

    READ = "read"  #: only reads
    WRITE = "write"  #: everything except what requires an administrator
    ADMIN = "admin"  #: everything that the user may do


class User(Base):
    """A person, or a program with its own account."""

    __tablename__ = "users"

    id: Mapped[UUID] = mapped_column(primary_key=True, default=uuid7)
    email: Mapped[str] = mapped_column(unique=True)
    name: Mapped[str]
    role: Mapped[str]
    created_at: Mapped[datetime] = mapped_column(server_default=func.now())
    #: When the user was deactivated; their keys and sessions are invalid since then.
    deactivated_at: Mapped[datetime | None]

    #: Whether the key or session of this request may use administrator rights. Not stored.
    may_administer = True

    @property
    def is_admin(self) -> bool:
        """Return whether this request may use administrator rights."""
        return self.role == Role.ADMIN and self.may_administer


class ApiKey(Base):
    """A user's API key; only its hash is stored."""

    __tablename__ = "api_keys"

    id: Mapped[UUID] = mapped_column(primary_key=True, default=uuid7)
    user_id: Mapped[UUID] = mapped_column(ForeignKey("users.id"), index=True)
    name: Mapped[str]
    key_hash: Mapped[str] = mapped_column(unique=True)
    last_four: Mapped[str]
    #: A `Scope`; None and `full`, from early versions, mean `admin`.
    scope: Mapped[str | None]
    expires_at: Mapped[datetime | None]
    revoked_at: Mapped[datetime | None]
    #: Source of the installation's own token: a setting or a data folder. None for keys created over HTTP.
    source: Mapped[str | None]
    #: When another token of the installation replaced this one, which revoked this key.
    replaced_at: Mapped[datetime | None]
    created_at: Mapped[datetime] = mapped_column(server_default=func.now())
    #: To the minute, because it is not written on every request.
    last_used_at: Mapped[datetime | None]


class SignInCode(Base):
    """The single-use code of a sign-in link; only its hash is stored."""

    __tablename__ = "sign_in_codes"

    code_hash: Mapped[str] = mapped_column(primary_key=True)
    user_id: Mapped[UUID] = mapped_column(ForeignKey("users.id"))
    created_at: Mapped[datetime] = mapped_column(server_default=func.now())
    expires_at: Mapped[datetime] = mapped_column(index=True)
    used_at: Mapped[datetime | None]


class BrowserSession(Base):
    """A signed-in browser; only the hash of its cookie is stored."""

    __tablename__ = "browser_sessions"

    id: Mapped[UUID] = mapped_column(primary_key=True, default=uuid7)
    user_id: Mapped[UUID] = mapped_column(ForeignKey("users.id"), index=True)
    token_hash: Mapped[str] = mapped_column(unique=True)
    created_at: Mapped[datetime] = mapped_column(server_default=func.now())
    #: To the hour, because it is not written on every request.
    last_seen: Mapped[datetime] = mapped_column(server_default=func.now())
    expires_at: Mapped[datetime] = mapped_column(index=True)
    revoked_at: Mapped[datetime | None]
    #: The key that opened the session, which has its scope and ends with it; None for a sign-in link.
    api_key_id: Mapped[UUID | None] = mapped_column(ForeignKey("api_keys.id"))
    scope: Mapped[str | None]


class IdempotentRequest(Base):
    """A creation with an `Idempotency-Key`, and its response."""

    __tablename__ = "idempotent_requests"

    user_id: Mapped[UUID] = mapped_column(ForeignKey("users.id"), primary_key=True)
    key: Mapped[str] = mapped_column(primary_key=True)
    fingerprint: Mapped[str]
    status_code: Mapped[int | None]
    body: Mapped[str | None]
    created_at: Mapped[datetime] = mapped_column(server_default=func.now(), index=True)
