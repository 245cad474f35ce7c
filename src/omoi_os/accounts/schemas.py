"""Users and keys as the API shows them."""

import re
from typing import Annotated, Literal
from uuid import UUID

from pydantic import AfterValidator, AwareDatetime, BaseModel, BeforeValidator, ConfigDict, Field, StringConstraints

from omoi_os.accounts.models import BrowserSession, Role, Scope
from omoi_os.http.paging import Page
from omoi_os.http.text import Line, matching

_ADDRESS = re.compile(r"[^@\s\x00-\x1f\x7f]+@[^@\s\x00-\x1f\x7f]+")


def _address(value: str) -> str:
    if not _ADDRESS.fullmatch(value):
        raise ValueError("must be an address like ada@example.org")
    return value


Email = Annotated[
    str,
    StringConstraints(strip_whitespace=True, to_lower=True, max_length=254),
    AfterValidator(_address),
    matching(r"^[^@\s\x00-\x20\x7f-\xa0]+@[^@\s\x00-\x20\x7f-\xa0]+$"),
]


class UserIn(BaseModel):
    """A user to add."""

    model_config = ConfigDict(
        extra="forbid",
        json_schema_extra={"example": {"email": "ada@example.org", "name": "Ada", "role": "member"}},
    )

    email: Email
    name: Line
    role: Role = Role.MEMBER


class UserOut(BaseModel):
    """A user."""

    model_config = ConfigDict(from_attributes=True)

    id: UUID
    email: str
    name: str
    role: Role
    created_at: AwareDatetime
    deactivated_at: AwareDatetime | None = Field(description="Since when the user cannot sign in; null while active.")


class UserPatch(BaseModel):
    """What to change about a user; fields left out stay as they are."""

    model_config = ConfigDict(extra="forbid", json_schema_extra={"example": {"role": "admin"}})

    name: Line = Field(default_factory=str, description="The user's name.")
    role: Role = Field(Role.MEMBER, description="`admin` or `member`.")
    active: bool = Field(True, strict=True, description="`false` deactivates the user, `true` activates them again.")


class MeOut(BaseModel):
    """Who calls."""

    id: UUID
    email: str
    name: str
    role: Role
    via: Literal["key", "session"] = Field(description="By an API key, or by a signed-in browser's session.")
    position: str = Field(description="Where the stream is: with this as its `since` it misses nothing from here on.")


class UserPage(Page):
    """Users, newest first."""

    items: list[UserOut]


def _known_scope(value: str | None) -> str:
    """Older keys have no scope, or `full`."""
    return value if value is not None and value in set(Scope) else Scope.ADMIN


class ApiKeyIn(BaseModel):
    """A key to make."""

    model_config = ConfigDict(extra="forbid", json_schema_extra={"example": {"name": "laptop", "scope": "write"}})

    name: Line
    scope: Scope = Field(
        Scope.ADMIN,
        description=(
            "`read` may only read; `write` may do everything but what takes an administrator; "
            "`admin` may do everything that its user may."
        ),
    )
    expires_at: AwareDatetime | None = Field(
        None, description="When it stops working, a time in the future; never if left out."
    )


class ApiKeyOut(BaseModel):
    """A key without the key itself."""

    model_config = ConfigDict(from_attributes=True)

    id: UUID
    user_id: UUID
    name: str
    last_four: str
    scope: Annotated[Scope, BeforeValidator(_known_scope)] = Field(description="What it may do.")
    expires_at: AwareDatetime | None
    revoked_at: AwareDatetime | None = Field(description="Since when it no longer works.")
    created_at: AwareDatetime


class NewApiKeyOut(ApiKeyOut):
    """A new key. This is the only time that it is shown."""

    key: str = Field(examples=["omoi_3o5eS0mF1qhT…"])


class ApiKeyPage(Page):
    """A user's keys, newest first."""

    items: list[ApiKeyOut]


class SessionOut(BaseModel):
    """A browser that is signed in."""

    id: UUID
    created_at: AwareDatetime = Field(description="When it was signed in.")
    last_seen: AwareDatetime = Field(description="When it was last used, to the hour.")
    expires_at: AwareDatetime = Field(description="When it is signed out by itself.")
    current: bool = Field(description="Whether this request was made with it.")

    @classmethod
    def of(cls, row: BrowserSession, *, current: bool) -> "SessionOut":
        """A session as it is shown."""
        return cls(
            id=row.id, created_at=row.created_at, last_seen=row.last_seen, expires_at=row.expires_at, current=current
        )


class SessionPage(Page):
    """Your open sessions, newest first."""

    items: list[SessionOut]
