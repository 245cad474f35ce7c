"""Request and response bodies for projects."""

import re
from typing import Annotated, Self
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

from omoi_os.http.choices import AnyCase
from omoi_os.http.paging import Page
from omoi_os.http.shapes import Shown
from omoi_os.http.text import Command, Described, Line, Text, matching
from omoi_os.projects.addresses import clone_url
from omoi_os.projects.forge_name import ForgeName
from omoi_os.projects.model_features import ModelFeature
from omoi_os.projects.models import Project, ProjectRole
from omoi_os.providers.registry import ProviderName

#: An allow-list, because git's own rules accept `$(id)` and `-x`.
_BRANCH = re.compile(r"[A-Za-z0-9_][A-Za-z0-9._-]*(/[A-Za-z0-9_][A-Za-z0-9._-]*)*")
_REPOSITORY = re.compile(r"[A-Za-z0-9_.][A-Za-z0-9._-]*")


def _branch(value: str) -> str:
    bad_part = any(part.endswith((".", ".lock")) for part in value.split("/"))
    if not _BRANCH.fullmatch(value) or ".." in value or bad_part:
        raise ValueError("must be a branch name of letters, digits and . _ - /")
    return value


def _repository(value: str) -> str:
    if not _REPOSITORY.fullmatch(value) or value.strip(".") == "" or value.endswith(".git"):
        raise ValueError("must be a name of letters, digits and . _ -, not ending in .git")
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
Provider = Annotated[
    str, StringConstraints(to_lower=True), AfterValidator(_provider), Described("enum", tuple(ProviderName))
]
ROLE = (
    "Your role in the project. `viewer` reads everything; `maintainer` also creates tickets and tasks, sends messages, "
    "cancels, retries and verifies; `owner` also changes settings and members and deletes the project. Administrators "
    "are owners of every project."
)
Usd = Annotated[float, Field(gt=0, le=1_000_000, allow_inf_nan=False)]
Concurrency = Annotated[int, Field(ge=1, le=1000, strict=True)]


class ProjectSettings(BaseModel):
    """Settings for all tickets of a project. Stored settings that this version does not know are ignored."""

    model_config = ConfigDict(extra="ignore")

    max_concurrent_tasks: Concurrency = Field(
        5, description="Maximum number of the project's tasks that run at the same time."
    )
    budget_usd: Usd | None = Field(
        None,
        description="Maximum amount in US dollars that each task may spend on model calls. The smallest budget of the "
        "installation, the project and the ticket applies.",
    )
    acceptance: list[Command] = Field(
        [], max_length=50, description="Shell commands that must succeed for every ticket, before the ticket's own."
    )
    retention_days: int | None = Field(
        None,
        ge=1,
        le=36_500,
        strict=True,
        description="How many days the events of ended sandboxes are kept; null uses the installation's setting.",
    )
    weight: int = Field(
        1,
        ge=1,
        le=100,
        strict=True,
        description="The project's share of the task slots: while other projects have pending tasks, a project of "
        "weight 3 gets three times as many slots as one of weight 1. Only administrators can change it.",
    )
    provider: Provider | None = Field(
        None,
        description="The provider that creates the project's sandboxes; null uses the installation's. Only "
        "administrators can change it.",
    )
    model_features: list[AnyCase[ModelFeature]] = Field(
        [],
        max_length=len(ModelFeature),
        description="Features of the model's host that the project's agents may use although they reach beyond the "
        "sandbox: `web_search`, `web_fetch`, `code_execution`, `skills`, `url_sources` (images and documents by URL), "
        "`file_sources` (uploaded files), `mcp` (MCP servers that the model's host calls).",
    )


class ProjectSettingsIn(ProjectSettings):
    """Settings for all tickets of a project; settings that are left out keep their value or get the default."""

    model_config = ConfigDict(extra="forbid", json_schema_extra={"example": {"max_concurrent_tasks": 2}})


class ProjectIn(BaseModel):
    """A project to create. Requires `name`, or `github_owner` and `github_repo`, or all three."""

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

    name: Line | None = Field(None, description="Name of the project; the repository's name if left out.")
    description: Text | None = Field(None, description="What the project is about, for people.")
    github_owner: RepositoryName | None = Field(
        None, description="Owner part of the repository's name, such as `kivo360` in `kivo360/OmoiOS`."
    )
    github_repo: RepositoryName | None = Field(
        None, description="Repository part of the repository's name, such as `OmoiOS` in `kivo360/OmoiOS`."
    )
    repo_url: Annotated[str, StringConstraints(min_length=1, max_length=4000), matching("^/")] | None = Field(
        None,
        description="Absolute path of a repository on the server, which is imported. Only administrators can use it. "
        "Without it the project starts with an empty repository.",
    )
    default_branch: Branch = Field("main", description="The branch that tasks start from.")
    forge: ForgeName = Field(
        "local", description="Where the repository is hosted: `local` is a repository on this server."
    )
    settings: ProjectSettingsIn = Field(
        default_factory=ProjectSettingsIn, description="Settings for all tickets of the project."
    )

    @model_validator(mode="after")
    def _has_a_name(self) -> "ProjectIn":
        if (self.github_owner is None) != (self.github_repo is None):
            raise ValueError("github_owner and github_repo belong together; give both or neither")
        if self.name is None and self.github_repo is None:
            raise ValueError("give a name, or github_owner and github_repo")
        return self


class ProjectPatch(BaseModel):
    """The fields of a project to change; fields that are left out keep their value."""

    model_config = ConfigDict(extra="forbid", json_schema_extra={"example": {"settings": {"max_concurrent_tasks": 2}}})

    name: Line = Field(default_factory=str, description="New name of the project.")
    description: Text | None = Field(None, description="What the project is about; null removes the description.")
    settings: ProjectSettingsIn = Field(
        default_factory=ProjectSettingsIn, description="The settings to change; settings left out keep their value."
    )


class ProjectOut(Shown):
    """A project: a git repository plus settings."""

    id: UUID = Field(description="The project's id.")
    name: str = Field(description="Name of the project.")
    description: str | None = Field(description="What the project is about; null if nobody has described it.")
    github_owner: str | None = Field(description="Owner part of the repository's name; null if it was not given.")
    github_repo: str | None = Field(description="Repository part of the repository's name; null if it was not given.")
    repo_url: str | None = Field(
        description="Path of the repository that was imported; null if the project started empty."
    )
    clone_url: str = Field(
        description="URL at which `git` clones, fetches and pushes the repository, with any user name and an API key "
        "as the password."
    )
    default_branch: str = Field(description="The branch that tasks start from.")
    forge: str = Field(description="Where the repository is hosted: `local` is a repository on this server.")
    settings: ProjectSettings = Field(description="Settings for all tickets of the project.")
    role: ProjectRole = Field(description=ROLE)
    created_by: UUID = Field(description="The user who created the project.")
    created_at: AwareDatetime = Field(description="When the project was created.")
    updated_at: AwareDatetime = Field(description="When the project or its settings were last changed.")

    @classmethod
    def of(cls, project: Project, *, role: ProjectRole, public_url: str) -> Self:
        """Return the response for a project to a user with this role."""
        added = {"role": role, "clone_url": clone_url(project.id, public_url=public_url)}
        stored = {name: getattr(project, name) for name in cls.model_fields if name not in added}
        return cls.model_validate(stored | added)


class ProjectPage(Page):
    """Projects, newest first."""

    items: list[ProjectOut] = Field(description="The projects on this page.")
