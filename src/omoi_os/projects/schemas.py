"""Projects as the API takes and shows them."""

import re
from typing import Annotated
from uuid import UUID

from pydantic import (
    AfterValidator,
    AwareDatetime,
    BaseModel,
    ConfigDict,
    Field,
    StringConstraints,
    model_validator,
)

from omoi_os.http.paging import Page
from omoi_os.http.text import Command, Described, Line, Text, matching
from omoi_os.projects.forge_name import ForgeName
from omoi_os.projects.model_features import ModelFeature
from omoi_os.providers.registry import ProviderName

#: Git's own rules let `$(id)` and `-x` through, so names come from an allow-list.
_BRANCH = re.compile(r"[A-Za-z0-9_][A-Za-z0-9._-]*(/[A-Za-z0-9_][A-Za-z0-9._-]*)*")
_REPOSITORY = re.compile(r"[A-Za-z0-9_.][A-Za-z0-9._-]*")
_HOST = re.compile(r"[a-z0-9]([a-z0-9-]*[a-z0-9])?(\.[a-z0-9]([a-z0-9-]*[a-z0-9])?)*")


def _branch(value: str) -> str:
    bad_part = any(part.endswith((".", ".lock")) for part in value.split("/"))
    if not _BRANCH.fullmatch(value) or ".." in value or bad_part:
        raise ValueError("must be a branch name of letters, digits and . _ - /")
    return value


def _repository(value: str) -> str:
    if not _REPOSITORY.fullmatch(value) or value.strip(".") == "" or value.endswith(".git"):
        raise ValueError("must be a name of letters, digits and . _ -, not ending in .git")
    return value


def _host(value: str) -> str:
    if not _HOST.fullmatch(value):
        raise ValueError("must be a host name such as pypi.org, in lower case, without scheme, port or path")
    return value


def _provider(value: str) -> str:
    if value not in list(ProviderName):
        raise ValueError(f"must be one of {', '.join(ProviderName)}")
    return value


Branch = Annotated[
    str,
    StringConstraints(min_length=1, max_length=100),
    AfterValidator(_branch),
    matching(rf"^(?!.*\.\.)(?!.*\.(lock)?(/|$)){_BRANCH.pattern}$"),
]
RepositoryName = Annotated[
    str,
    StringConstraints(min_length=1, max_length=100),
    AfterValidator(_repository),
    matching(rf"^(?!\.+$)(?!.*\.git$){_REPOSITORY.pattern}$"),
]
Host = Annotated[
    str, StringConstraints(min_length=1, max_length=253), AfterValidator(_host), matching(f"^{_HOST.pattern}$")
]
Provider = Annotated[str, AfterValidator(_provider), Described("enum", tuple(ProviderName))]
Usd = Annotated[float, Field(gt=0, le=1_000_000, allow_inf_nan=False)]
Concurrency = Annotated[int, Field(ge=1, le=1000, strict=True)]


class ProjectSettings(BaseModel):
    """What holds for every ticket of a project."""

    model_config = ConfigDict(extra="forbid")

    max_concurrent_tasks: Concurrency = Field(5, description="Tasks that run at the same time.")
    budget_usd: Usd | None = Field(
        None,
        description="What each task may spend on model calls; the smallest of installation, project and ticket wins.",
    )
    egress_allow: list[Host] = Field(
        [], max_length=100, description="Hosts for sandboxes to reach; they have no network, and this opens none."
    )
    acceptance: list[Command] = Field([], max_length=50, description="Shell commands that must pass for each ticket.")
    retention_days: int | None = Field(
        None, ge=1, le=36_500, strict=True, description="How long ended sandboxes' events are kept; the installation's."
    )
    weight: int = Field(
        1,
        ge=1,
        le=100,
        strict=True,
        description=(
            "The project's share of the task slots: while others wait too, one of weight 3 gets three times as many as "
            "one of weight 1. Only administrators change it."
        ),
    )
    provider: Provider | None = Field(
        None,
        description="What creates this project's sandboxes; the installation's choice by default. Administrators only.",
    )

    model_features: list[ModelFeature] = Field(
        [],
        max_length=len(ModelFeature),
        description=(
            "Features of the model's host that this project's agents may use although they reach past the sandbox: "
            "`web_search`, `web_fetch`, `code_execution`, `skills`, `url_sources` (images and documents by URL), "
            "`file_sources` (uploaded files), `mcp` (MCP servers that the model's host calls). Empty by default."
        ),
    )


class ProjectIn(BaseModel):
    """A project to create. Give `name`, or `github_owner` and `github_repo`, or all three."""

    model_config = ConfigDict(
        extra="forbid",
        json_schema_extra={
            "example": {
                "name": "OmoiOS",
                "github_owner": "kivo360",
                "github_repo": "OmoiOS",
                "settings": {"max_concurrent_tasks": 5, "acceptance": ["make test"]},
            }
        },
    )

    name: Line | None = Field(None, description="Taken from the repository's name if left out.")
    description: Text | None = None
    github_owner: RepositoryName | None = None
    github_repo: RepositoryName | None = None
    repo_url: Annotated[str, StringConstraints(min_length=1, max_length=4000), matching("^/")] | None = Field(
        None, description="A repository on this machine to begin from, as an absolute path; administrators only."
    )
    default_branch: Branch = "main"
    forge: ForgeName = "local"
    settings: ProjectSettings = Field(default_factory=ProjectSettings)

    @model_validator(mode="after")
    def _belongs_together(self) -> "ProjectIn":
        if (self.github_owner is None) != (self.github_repo is None):
            raise ValueError("github_owner and github_repo belong together; give both or neither")
        if self.name is None and self.github_repo is None:
            raise ValueError("give a name, or github_owner and github_repo")
        return self


class ProjectPatch(BaseModel):
    """What to change; fields left out stay as they are."""

    model_config = ConfigDict(extra="forbid", json_schema_extra={"example": {"settings": {"max_concurrent_tasks": 2}}})

    name: Line = Field(default_factory=str)
    description: Text | None = None
    settings: ProjectSettings = Field(default_factory=ProjectSettings)


class ProjectOut(BaseModel):
    """A project."""

    model_config = ConfigDict(from_attributes=True)

    id: UUID
    name: str
    description: str | None
    github_owner: str | None
    github_repo: str | None
    repo_url: str | None
    default_branch: str
    forge: str
    settings: ProjectSettings
    created_by: UUID
    created_at: AwareDatetime
    updated_at: AwareDatetime


class ProjectPage(Page):
    """Projects, newest first."""

    items: list[ProjectOut]
