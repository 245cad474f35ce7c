"""The one rule for what a user may do in a project that they may see.

Viewers read everything, maintainers also change tickets and run tasks, owners also manage the project. Administrators
may do everything in every project. Routes and services ask here and compare no roles themselves.
"""

from collections.abc import Collection, Mapping
from enum import StrEnum
from uuid import UUID

from sqlalchemy import select
from sqlalchemy.ext.asyncio import AsyncSession

from omoi_os.accounts.models import User
from omoi_os.errors import Forbidden, NotFound
from omoi_os.projects.models import ProjectMember, ProjectRole
from omoi_os.visibility import Role


class Permission(StrEnum):
    """A kind of action in a project."""

    READ = "read"  #: see the project and everything that belongs to it
    EDIT = "edit"  #: create, change and cancel tickets
    RUN = "run"  #: create, cancel, retry and verify tasks; send messages; stop sandboxes
    PUSH = "push"  #: push branches and tags to the repository
    MANAGE = "manage"  #: change settings and members, delete the project


#: From the narrowest to the widest.
_ROLES = (ProjectRole.VIEWER, ProjectRole.MAINTAINER, ProjectRole.OWNER)
_NEEDED: Mapping[Permission, ProjectRole] = {
    Permission.READ: ProjectRole.VIEWER,
    Permission.EDIT: ProjectRole.MAINTAINER,
    Permission.RUN: ProjectRole.MAINTAINER,
    Permission.PUSH: ProjectRole.MAINTAINER,
    Permission.MANAGE: ProjectRole.OWNER,
}


def allows(role: str, permission: Permission) -> bool:
    """Return whether a role includes a permission."""
    return _ROLES.index(ProjectRole(role)) >= _ROLES.index(_NEEDED[permission])


def may_edit(role: str) -> bool:
    """Return whether a role may create and change tickets."""
    return allows(role, Permission.EDIT)


def may_run(role: str) -> bool:
    """Return whether a role may run tasks and send messages to agents."""
    return allows(role, Permission.RUN)


def may_push(role: str) -> bool:
    """Return whether a role may push to the repository."""
    return allows(role, Permission.PUSH)


def may_manage(role: str) -> bool:
    """Return whether a role may change settings and members and delete the project."""
    return allows(role, Permission.MANAGE)


def refusal(role: str, permission: Permission) -> Forbidden:
    """Return the error for a member whose role does not include a permission."""
    needed = _NEEDED[permission]
    who = "an owner" if needed == ProjectRole.OWNER else f"a {needed} or an owner"
    return Forbidden(f"you are a {role} of this project; only {who} can do this")


async def roles_in(session: AsyncSession, user: User, project_ids: Collection[UUID]) -> dict[UUID, ProjectRole]:
    """Map each of these projects that the user may see to their role; an administrator is an owner of all of them."""
    if user.role == Role.ADMIN:
        return dict.fromkeys(project_ids, ProjectRole.OWNER)
    query = select(ProjectMember.project_id, ProjectMember.role).where(
        ProjectMember.user_id == user.id, ProjectMember.project_id.in_(project_ids)
    )
    return {project_id: ProjectRole(role) for project_id, role in await session.execute(query)}


async def role_in(session: AsyncSession, user: User, project_id: UUID) -> ProjectRole | None:
    """Return the user's role in a project; None if they may not see it."""
    return (await roles_in(session, user, [project_id])).get(project_id)


async def require(session: AsyncSession, user: User, project_id: UUID, permission: Permission) -> ProjectRole:
    """Return the user's role; raise `NotFound` if they may not see the project, `Forbidden` if the role is too low."""
    role = await role_in(session, user, project_id)
    if role is None:
        raise NotFound(f"there is no project {project_id}")
    if not allows(role, permission):
        raise refusal(role, permission)
    return role


def role_sql(project_id: str, user_id: str) -> str:
    """Return the SQL expression for a user's role in a project, NULL without one. Both arguments are expressions."""
    own = f"user_id = CAST({user_id} AS uuid) AND project_members.project_id = {project_id}"
    return f"(SELECT role FROM project_members WHERE {own})"  # noqa: S608  both are constants
