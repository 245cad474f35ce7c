"""Request and response bodies for users, API keys and sessions."""

import re
from typing import Annotated, Literal
from uuid import UUID

from pydantic import AfterValidator, AwareDatetime, BaseModel, BeforeValidator, ConfigDict, Field, StringConstraints

from omoi_os.accounts.models import BrowserSession, Scope
from omoi_os.http.choices import AnyCase
from omoi_os.http.paging import Page
from omoi_os.http.text import Line, matching
from omoi_os.visibility import Role

_ADDRESS = re.compile(r"[^@\s\x00-\x1f\x7f]+@[^@\s\x00-\x1f\x7f]+")


def _address(value: str) -> str:
    if not _ADDRESS.fullmatch(value):
        raise ValueError("must be an e-mail address such as ada@example.org")
    return value


Email = Annotated[
    str,
    StringConstraints(strip_whitespace=True, to_lower=True, max_length=254),
    AfterValidator(_address),
    matching(r"^[^@\s\x00-\x20\x7f-\xa0]+@[^@\s\x00-\x20\x7f-\xa0]+$"),
]


_ROLE = "`admin` sees and manages everything; `member` sees only the projects they belong to."


class UserIn(BaseModel):
    """A user to add."""

    model_config = ConfigDict(
        extra="forbid",
        json_schema_extra={"example": {"email": "ada@example.org", "name": "Ada", "role": "member"}},
    )

    email: Email = Field(description="The user's e-mail address, which identifies them. It is stored in lower case.")
    name: Line = Field(description="The name that other people see.")
    role: AnyCase[Role] = Field(Role.MEMBER, description=_ROLE)


class UserOut(BaseModel):
    """A user."""

    model_config = ConfigDict(from_attributes=True)

    id: UUID = Field(description="The user's id.")
    email: str = Field(description="The user's e-mail address, in lower case.")
    name: str = Field(description="The name that other people see.")
    role: Role = Field(
        description="`admin` sees and manages everything; `member` sees only the projects they belong to."
    )
    created_at: AwareDatetime = Field(description="When the user was added.")
    deactivated_at: AwareDatetime | None = Field(
        description="When the user was deactivated; null while they are active."
    )


class UserPatch(BaseModel):
    """The fields of a user to change; fields that are left out keep their value."""

    model_config = ConfigDict(extra="forbid", json_schema_extra={"example": {"role": "admin"}})

    name: Line = Field(default_factory=str, description="The name that other people see.")
    role: AnyCase[Role] = Field(Role.MEMBER, description=_ROLE)
    active: bool = Field(
        True, strict=True, description="`false` deactivates the user and ends their sessions; `true` reactivates them."
    )


class MeOut(BaseModel):
    """The calling user."""

    id: UUID = Field(description="Your user id.")
    email: str = Field(description="Your e-mail address.")
    name: str = Field(description="The name that other people see.")
    role: Role = Field(
        description="`admin` sees and manages everything; `member` sees only the projects they belong to."
    )
    via: Literal["key", "session"] = Field(
        description="How you authenticated: `key` for an API key, `session` for a signed-in browser."
    )
    position: str = Field(
        description="Current position of the stream. Pass it as `since` to receive every later change."
    )


class UserPage(Page):
    """Users, newest first."""

    items: list[UserOut] = Field(description="The users on this page.")


def _known_scope(value: str | None) -> str:
    """Return the scope of a key; keys of early versions have none, or `full`, and may do everything."""
    return value if value is not None and value in set(Scope) else Scope.ADMIN


_SCOPE = (
    "`read` only reads; `write` does everything except what requires an administrator; "
    "`admin` does everything that its user may do."
)


class ApiKeyIn(BaseModel):
    """An API key to create."""

    model_config = ConfigDict(extra="forbid", json_schema_extra={"example": {"name": "laptop", "scope": "write"}})

    name: Line = Field(description="A name by which you recognise the key, such as the machine that uses it.")
    scope: AnyCase[Scope] | None = Field(
        None,
        description=f"{_SCOPE} Only administrators can have a key with the scope `admin`. By default `admin` for an "
        "administrator and `write` for a member.",
    )
    expires_at: AwareDatetime | None = Field(
        None, description="When the key stops working, a time in the future. Without it, the key does not expire."
    )


class ApiKeyOut(BaseModel):
    """An API key, without its secret."""

    model_config = ConfigDict(from_attributes=True)

    id: UUID = Field(description="The key's id, used to revoke it.")
    user_id: UUID = Field(description="The user that the key authenticates.")
    name: str = Field(description="The name that was given when the key was created.")
    last_four: str = Field(description="The last four characters of the key.")
    scope: Annotated[Scope, BeforeValidator(_known_scope)] = Field(description=_SCOPE)
    expires_at: AwareDatetime | None = Field(description="When the key stops working; null if it does not expire.")
    revoked_at: AwareDatetime | None = Field(description="When the key was revoked; null while it is valid.")
    created_at: AwareDatetime = Field(description="When the key was created.")
    last_used_at: AwareDatetime | None = Field(
        description="When the key was last used, to the minute; null if it was never used."
    )


class NewApiKeyOut(ApiKeyOut):
    """A new API key with its secret, which no later response contains."""

    key: str = Field(
        examples=["omoi_3o5eS0mF1qhT…"], description="The key itself. Store it now: it cannot be shown again."
    )


class ApiKeyPage(Page):
    """The API keys of a user, newest first."""

    items: list[ApiKeyOut] = Field(description="The keys on this page.")


class SignInLinkOut(BaseModel):
    """A link that signs one browser in as a user."""

    url: str = Field(
        examples=["https://omoi.example.org/sign-in?code=…"],
        description="The link. It works once; send it to nobody but the user.",
    )
    expires_at: AwareDatetime = Field(description="When the link stops working if it was not used.")


class SessionOut(BaseModel):
    """A signed-in browser."""

    id: UUID = Field(description="The session's id, used to end it.")
    created_at: AwareDatetime = Field(description="When the browser was signed in.")
    last_seen: AwareDatetime = Field(description="When the session was last used, to the hour.")
    expires_at: AwareDatetime = Field(description="When the browser is signed out automatically.")
    current: bool = Field(description="Whether this request was made with this session.")

    @classmethod
    def of(cls, row: BrowserSession, *, current: bool) -> "SessionOut":
        """Return the response for a stored session."""
        return cls(
            id=row.id, created_at=row.created_at, last_seen=row.last_seen, expires_at=row.expires_at, current=current
        )


class SessionPage(Page):
    """Your open sessions, newest first."""

    items: list[SessionOut] = Field(description="The sessions on this page.")
