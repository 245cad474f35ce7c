"""Adds, changes and removes members of projects. Each function runs in the caller's transaction."""

from datetime import datetime
from uuid import UUID

from sqlalchemy.ext.asyncio import AsyncSession

from omoi_os.accounts import repository as accounts
from omoi_os.accounts.models import User
from omoi_os.audit.models import AuditKind
from omoi_os.audit.trail import record_action
from omoi_os.bus.base import Bus, Topic
from omoi_os.errors import Conflict, Invalid, NotFound
from omoi_os.projects import repository as project_rows
from omoi_os.projects.members import repository
from omoi_os.projects.models import Project, ProjectMember, ProjectRole


async def find_account(session: AsyncSession, *, email: str | None, user_id: UUID | None) -> User:
    """Return the active account to add; raise `Invalid` if there is none."""
    if email is not None:
        user, named = await accounts.by_email(session, email), f"email: there is no user with the address {email}"
    else:
        assert user_id is not None  # noqa: S101  the request has one of the two
        user, named = await accounts.get(session, user_id), f"user_id: there is no user {user_id}"
    if user is None:
        raise Invalid(f"{named}; ask an administrator to add them")
    if user.deactivated_at is not None:
        raise Invalid(f"{user.email} is deactivated; ask an administrator to reactivate them")
    return user


async def set_role(
    session: AsyncSession, bus: Bus, project: Project, user: User, role: ProjectRole, *, actor: User, now: datetime
) -> tuple[ProjectMember, bool]:
    """Add a member or change their role; return the membership and whether it is new.

    Raise `Conflict` if no active owner would be left. Open streams follow the change at once.
    """
    # Hold the project row: two owners must not remove each other at the same time.
    await project_rows.lock(session, project.id)
    before = await repository.get(session, project.id, user.id)
    earlier = ProjectRole(before.role) if before is not None else None
    if earlier == ProjectRole.OWNER and role != ProjectRole.OWNER:
        await _check_another_owner(session, project, user)
    member = await repository.store(session, project.id, user.id, role=role, now=now)
    if earlier != role:
        kind = AuditKind.MEMBER_ADDED if earlier is None else AuditKind.MEMBER_CHANGED
        change = f"role {role}" if earlier is None else f"role {role}, {earlier} until now"
        await _record(session, bus, kind, project, user, actor=actor, change=change)
    return member, earlier is None


async def remove(session: AsyncSession, bus: Bus, project: Project, user_id: UUID, *, actor: User) -> None:
    """Remove a member; their streams of the project end at once, and what they created stays.

    Raise `NotFound` if the user is no member, and `Conflict` if no active owner would be left.
    """
    await project_rows.lock(session, project.id)
    member = await repository.get(session, project.id, user_id)
    if member is None:
        raise NotFound(f"user {user_id} is not a member of project {project.id}")
    user = await session.get_one(User, user_id)
    if member.role == ProjectRole.OWNER:
        await _check_another_owner(session, project, user)
    await repository.remove(session, project.id, user_id)
    change = f"{member.role} until now"
    await _record(session, bus, AuditKind.MEMBER_REMOVED, project, user, actor=actor, change=change)


async def _check_another_owner(session: AsyncSession, project: Project, user: User) -> None:
    if not set(await repository.active_owners(session, project.id)) - {user.id}:
        raise Conflict(f"{user.email} is the last owner of project {project.id}; make another member an owner first")


async def _record(
    session: AsyncSession, bus: Bus, kind: AuditKind, project: Project, user: User, *, actor: User, change: str
) -> None:
    """Write the audit entry and let open streams check what the user may see."""
    detail = f"{change}, project {project.id} ({project.name})"
    await record_action(session, actor.email, kind, subject=user.email, detail=detail)
    await bus.announce(session, Topic.ACCESS, str(user.id))
