"""The one rule for who may see a project and everything that belongs to it.

Administrators see every project, everybody else the projects of which they are a member. Every query and the stream use
these functions, so that a change of the rule is a change of this module. `projects.permissions` decides what a member
may do.
"""

from enum import StrEnum
from typing import Protocol
from uuid import UUID

from sqlalchemy import ColumnElement, SQLColumnExpression, Uuid, column, select, table, true

#: The columns that the rule needs. The stream must not depend on the tables of the concepts, which publish to it.
_MEMBERS = table("project_members", column("project_id", Uuid()), column("user_id", Uuid()))


class Role(StrEnum):
    """The role of a user."""

    ADMIN = "admin"  #: sees and manages everything
    MEMBER = "member"  #: sees the projects of which they are a member


class Viewer(Protocol):
    """A user of whom the rule knows no more than this."""

    @property
    def id(self) -> UUID:
        """The user's id."""

    @property
    def role(self) -> str:
        """One of `Role`."""


def restricted_to(user_id: UUID, role: str) -> UUID | None:
    """Return the user whose projects alone are visible; None for a user who sees every project."""
    return None if role == Role.ADMIN else user_id


def visible_to(user: Viewer, project_id: SQLColumnExpression[UUID]) -> ColumnElement[bool]:
    """Return the condition that the project with this id is visible to the user."""
    viewer = restricted_to(user.id, user.role)
    if viewer is None:
        return true()
    return project_id.in_(select(_MEMBERS.c.project_id).where(_MEMBERS.c.user_id == viewer))


def visible_sql(project_id: str, viewer: str) -> str:
    """Return the same condition for a hand-written statement.

    Both arguments are SQL expressions. `viewer` is a parameter with the result of `restricted_to`.
    """
    own = f"SELECT project_id FROM project_members WHERE user_id = CAST({viewer} AS uuid)"  # noqa: S608  both are constants
    return f"(CAST({viewer} AS uuid) IS NULL OR {project_id} IN ({own}))"


def audience_sql(project_id: str) -> str:
    """Return the SQL array of the users, apart from administrators, who may see the project with this id."""
    return f"ARRAY(SELECT user_id FROM project_members WHERE project_members.project_id = {project_id})"  # noqa: S608
