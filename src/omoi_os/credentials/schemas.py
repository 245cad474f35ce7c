"""Request and response bodies for credentials."""

from typing import Annotated, Any
from uuid import UUID

from pydantic import AwareDatetime, BaseModel, ConfigDict, Field, SecretStr, StringConstraints

from omoi_os.credentials.kinds import CheckResult, CredentialProvider
from omoi_os.credentials.values import NewCredential
from omoi_os.http.choices import AnyCase
from omoi_os.http.paging import Page
from omoi_os.http.text import Line, Text

_PROVIDER = (
    "`anthropic`: an API key of Anthropic; `anthropic_compatible`: a key of another host with the same API; "
    "`github`: a personal token; `git`: an SSH key, or a user name and password, for one git host."
)
_MODEL = "The model that calls with this credential use; without it, the task's or the installation's."
_BASE_URL = (
    "Where the credential is used. Required for `anthropic_compatible` and `git` (`https://host` or `ssh://host`). "
    "A host in a private network must be named in OMOI_EGRESS_PRIVATE."
)
_DEFAULT = "Whether your tasks use it. Of all your credentials for models, and for each git host, one is the default."
_SHARED = "Whether it is the installation's, used for everyone who has no default for models."
_USERNAME = "The user name for a git host over HTTPS."
_KNOWN_HOSTS = "The public keys of a git host over SSH, as `ssh-keyscan` prints them."

ModelId = Annotated[str, StringConstraints(strip_whitespace=True, pattern=r"^[A-Za-z0-9][A-Za-z0-9._:/@\[\]-]{0,199}$")]
Url = Annotated[str, StringConstraints(strip_whitespace=True, min_length=1, max_length=500)]


class CredentialIn(BaseModel):
    """A credential to add."""

    model_config = ConfigDict(
        extra="forbid",
        json_schema_extra={
            "example": {
                "provider": "anthropic_compatible",
                "name": "z.ai",
                "secret": "…",
                "base_url": "https://api.z.ai/api/anthropic",
                "model": "glm-4.6",
            }
        },
    )

    provider: AnyCase[CredentialProvider] = Field(description=_PROVIDER)
    name: Line = Field(description="A name by which you recognise the credential.")
    secret: SecretStr = Field(
        max_length=20_000, description="The key, token, password or private key. No response contains it."
    )
    base_url: Url | None = Field(None, description=_BASE_URL)
    model: ModelId | None = Field(None, description=_MODEL)
    username: Line | None = Field(None, description=_USERNAME)
    known_hosts: Text | None = Field(None, max_length=20_000, description=_KNOWN_HOSTS)
    is_default: bool | None = Field(
        None, strict=True, description=f"{_DEFAULT} Without this field, the first one becomes the default."
    )
    shared: bool = Field(False, strict=True, description=f"{_SHARED} Only administrators can share, and only models.")

    def without_secret(self) -> dict[str, Any]:
        """Return the body as JSON values, without the secret."""
        return self.model_dump(mode="json", exclude={"secret"})

    def to_new(self) -> NewCredential:
        """Return the fields for the service."""
        values = self.model_dump(exclude={"secret"})
        return NewCredential(**values, secret=self.secret.get_secret_value().strip())


class CredentialOut(BaseModel):
    """A credential, without its secret."""

    model_config = ConfigDict(from_attributes=True)

    id: UUID = Field(description="The credential's id.")
    provider: CredentialProvider = Field(description=_PROVIDER)
    name: str = Field(description="The name that was given when it was added.")
    base_url: str | None = Field(description="Where it is used; null for the host that the settings name.")
    model: str | None = Field(description=_MODEL)
    username: str | None = Field(description=_USERNAME)
    known_hosts: str | None = Field(description=_KNOWN_HOSTS)
    is_default: bool = Field(description=_DEFAULT)
    shared: bool = Field(description=_SHARED)
    last_four: str = Field(
        description="The last four characters of the secret; empty for a private key or a short secret."
    )
    checked_at: AwareDatetime | None = Field(description="When it was last checked; null if never.")
    check: CheckResult | None = Field(
        description="What the last check found: `ok`, `refused` by its host, or its host is `unreachable`. Null for "
        "git, which can only be checked with a repository."
    )
    last_used_at: AwareDatetime | None = Field(description="When it was last used, to the minute; null if never.")
    created_at: AwareDatetime = Field(description="When it was added.")


class CredentialPage(Page):
    """Your credentials, newest first."""

    items: list[CredentialOut] = Field(description="The credentials on this page.")
