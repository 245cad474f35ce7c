"""Request and response bodies for members of projects."""

from uuid import UUID

from pydantic import AwareDatetime, BaseModel, ConfigDict, Field, model_validator

from omoi_os.accounts.models import User
from omoi_os.accounts.schemas import Email
from omoi_os.http.choices import AnyCase
from omoi_os.http.paging import Page
from omoi_os.projects.models import ProjectMember, ProjectRole

_ROLE = (
    "`viewer` reads everything of the project; `maintainer` also creates tickets and tasks, sends messages, cancels, "
    "retries and verifies; `owner` also changes settings and members and deletes the project."
)


class MemberIn(BaseModel):
    """A member to add or change. Requires `email` or `user_id`."""

    model_config = ConfigDict(
        extra="forbid", json_schema_extra={"example": {"email": "ada@example.org", "role": "maintainer"}}
    )

    email: Email | None = Field(None, description="E-mail address of the user, who must have an account.")
    user_id: UUID | None = Field(None, description="Id of the user, instead of `email`.")
    role: AnyCase[ProjectRole] = Field(description=_ROLE)

    @model_validator(mode="after")
    def _names_one_user(self) -> "MemberIn":
        if (self.email is None) == (self.user_id is None):
            raise ValueError("give email or user_id")
        return self


class MemberOut(BaseModel):
    """A member of a project."""

    user_id: UUID = Field(description="The user's id.")
    email: str = Field(description="The user's e-mail address.")
    name: str = Field(description="The name that other people see.")
    role: ProjectRole = Field(description=_ROLE)
    created_at: AwareDatetime = Field(description="When the user became a member.")
    deactivated_at: AwareDatetime | None = Field(
        description="When the user's account was deactivated; null while it is active."
    )

    @classmethod
    def of(cls, member: ProjectMember, user: User) -> "MemberOut":
        """Return the response for a stored membership."""
        return cls(
            user_id=user.id,
            email=user.email,
            name=user.name,
            role=ProjectRole(member.role),
            created_at=member.created_at,
            deactivated_at=user.deactivated_at,
        )


class MemberPage(Page):
    """The members of a project, the oldest account first."""

    items: list[MemberOut] = Field(description="The members on this page.")
