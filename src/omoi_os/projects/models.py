"""Tables of projects and their members."""

from datetime import datetime
from enum import StrEnum
from typing import Any
from uuid import UUID

from sqlalchemy import ForeignKey, Index, func, text
from sqlalchemy.orm import Mapped, mapped_column

from omoi_os.db.base import Base
from omoi_os.ids import uuid7


class ProjectRole(StrEnum):
    """What a member may do in a project; each role includes the ones below it."""

    OWNER = "owner"  #: changes settings and members, and deletes the project
    MAINTAINER = "maintainer"  #: creates tickets and tasks, sends messages, cancels, retries and verifies
    VIEWER = "viewer"  #: reads everything of the project


class Project(Base):
    """A git repository plus settings."""

    __tablename__ = "projects"
    __table_args__ = (
        Index("ix_projects_created_by_id", "created_by", "id"),
        Index(
            "uq_projects_repository",
            "created_by",
            "github_owner",
            "github_repo",
            unique=True,
            postgresql_where=text("deleted_at IS NULL AND github_owner IS NOT NULL"),
        ),
        Index(
            "ix_projects_repository",
            "github_owner",
            "github_repo",
            postgresql_where=text("deleted_at IS NULL AND github_owner IS NOT NULL"),
        ),
    )

    id: Mapped[UUID] = mapped_column(primary_key=True, default=uuid7)
    name: Mapped[str]
    description: Mapped[str | None]
    github_owner: Mapped[str | None]
    github_repo: Mapped[str | None]
    repo_url: Mapped[str | None]
    default_branch: Mapped[str]
    forge: Mapped[str]
    settings: Mapped[dict[str, Any]]
    created_by: Mapped[UUID] = mapped_column(ForeignKey("users.id"))
    created_at: Mapped[datetime] = mapped_column(server_default=func.now())
    updated_at: Mapped[datetime] = mapped_column(server_default=func.now())
    deleted_at: Mapped[datetime | None]


class ProjectMember(Base):
    """A user's role in a project. The creator of a project starts as its owner."""

    __tablename__ = "project_members"
    # For the projects of one user, which every list and the stream ask for.
    __table_args__ = (Index("ix_project_members_user_id_project_id", "user_id", "project_id"),)

    project_id: Mapped[UUID] = mapped_column(ForeignKey("projects.id"), primary_key=True)
    user_id: Mapped[UUID] = mapped_column(ForeignKey("users.id"), primary_key=True)
    role: Mapped[str]
    created_at: Mapped[datetime] = mapped_column(server_default=func.now())
