"""Users and keys as the API shows them."""

import re
from typing import Annotated, Literal
from uuid import UUID

from pydantic import AfterValidator, AwareDatetime, BaseModel, ConfigDict, Field, StringConstraints

from omoi_os.accounts.models import Role
from omoi_os.api.paging import Page
from omoi_os.api.text import Line

_ADDRESS = re.compile(r"[^@\s\x00-\x1f\x7f]+@[^@\s\x00-\x1f\x7f]+")


def _address(value: str) -> str:
    if not _ADDRESS.fullmatch(value):
        raise ValueError("must be an address like ada@example.org")
    return value


Email = Annotated[
    str, StringConstraints(strip_whitespace=True, to_lower=True, max_length=254), AfterValidator(_address)
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


class ApiKeyIn(BaseModel):
    """A key to make."""

    model_config = ConfigDict(extra="forbid", json_schema_extra={"example": {"name": "laptop"}})

    name: Line
    scope: Literal["full", "read"] | None = Field(None, description="`read` changes nothing; `full` is the default.")
    expires_at: AwareDatetime | None = None


class ApiKeyOut(BaseModel):
    """A key without the key itself."""

    model_config = ConfigDict(from_attributes=True)

    id: UUID
    user_id: UUID
    name: str
    last_four: str
    scope: str | None
    expires_at: AwareDatetime | None
    revoked_at: AwareDatetime | None
    created_at: AwareDatetime


class NewApiKeyOut(ApiKeyOut):
    """A new key. This is the only time that it is shown."""

    key: str = Field(examples=["omoi_3o5eS0mF1qhT…"])


class ApiKeyPage(Page):
    """A user's keys, newest first."""

    items: list[ApiKeyOut]
