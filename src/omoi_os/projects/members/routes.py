"""The members of a project and their roles."""

from fastapi import Response

from omoi_os.accounts.deps import CurrentUser, UserId
from omoi_os.accounts.idempotency import OnlyOnce
from omoi_os.http import paging
from omoi_os.http.deps import AppBus, DbSession, Now
from omoi_os.http.problems import problems
from omoi_os.http.routers import make_router
from omoi_os.projects import permissions
from omoi_os.projects.deps import ManagedProject, VisibleProject
from omoi_os.projects.members import repository, service
from omoi_os.projects.members.schemas import MemberIn, MemberOut, MemberPage
from omoi_os.projects.permissions import Permission

router = make_router("/projects/{project_id}/members", tags=["projects"], refusals=(401, 403, 404, 422, 503))


@router.get("", summary="List a project's members")
async def list_members(
    project: VisibleProject, session: DbSession, limit: paging.Limit = 50, cursor: paging.Cursor = None
) -> MemberPage:
    """Return the members of a project with their roles, the oldest account first."""
    after = paging.before_id("members", cursor)
    rows = await repository.list_members(session, project.id, limit=limit + 1, after=after)
    found, next_cursor = paging.cut(rows, limit, lambda row: paging.encode("members", row[1].id))
    return MemberPage(items=[MemberOut.of(member, user) for member, user in found], next_cursor=next_cursor)


@router.post(
    "",
    status_code=201,
    summary="Add a member or change their role",
    responses=problems(409, 413) | {200: {"model": MemberOut, "description": "The user was already a member."}},
)
async def add_member(
    project: ManagedProject,
    actor: CurrentUser,
    body: MemberIn,
    once: OnlyOnce,
    session: DbSession,
    *,
    bus: AppBus,
    now: Now,
    response: Response,
) -> MemberOut:
    """Add a user to the project (201), or change a member's role (200). Only owners can do this.

    Takes effect at once, also on open streams. Answers 409 if no active owner would be left.
    """
    user = await service.find_account(session, email=body.email, user_id=body.user_id)
    member, is_new = await service.set_role(session, bus, project, user, body.role, actor=actor, now=now)
    response.status_code = 201 if is_new else 200
    return once.answer(MemberOut.of(member, user), status=response.status_code)


@router.delete("/{user_id}", status_code=204, summary="Remove a member", responses=problems(409))
async def remove_member(
    project: VisibleProject, user_id: UserId, actor: CurrentUser, session: DbSession, bus: AppBus
) -> None:
    """Remove a user from the project. Only owners can do this; everybody can leave a project.

    Takes effect at once, also on open streams; what the user created stays. Answers 409 for the last active owner.
    """
    if user_id != actor.id:
        await permissions.require(session, actor, project.id, Permission.MANAGE)
    await service.remove(session, bus, project, user_id, actor=actor)
