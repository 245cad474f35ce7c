"""The one rule for who may see a project and everything that belongs to it.

Administrators see every project, everybody else the projects they own. Every query and the stream use these functions,
so that a change of the rule is a change of this module.
"""

from uuid import UUID

from sqlalchemy import ColumnElement, SQLColumnExpression, select, true

from omoi_os.accounts.models import Role, User
from omoi_os.projects.models import Project


def restricted_to(user_id: UUID, role: str) -> UUID | None:
    """Return the user whose projects alone are visible; None for a user who sees every project."""
    return None if role == Role.ADMIN else user_id


def visible_to(user: User, project_id: SQLColumnExpression[UUID]) -> ColumnElement[bool]:
    """Return the condition that the project with this id is visible to the user."""
    viewer = restricted_to(user.id, user.role)
    if viewer is None:
        return true()
    return project_id.in_(select(Project.id).where(Project.created_by == viewer))


def visible_sql(project_id: str, viewer: str) -> str:
    """Return the same condition for a hand-written statement.

    Both arguments are SQL expressions. `viewer` is a parameter with the result of `restricted_to`.
    """
    own = f"SELECT id FROM projects WHERE created_by = CAST({viewer} AS uuid)"  # noqa: S608  both are constants
    return f"(CAST({viewer} AS uuid) IS NULL OR {project_id} IN ({own}))"


def audience_sql(project: str) -> str:
    """Return the SQL array of the users, apart from administrators, who may see a row of `projects`."""
    return f"ARRAY[{project}.created_by]"
