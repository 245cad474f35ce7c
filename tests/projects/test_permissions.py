"""What each role may do in a project."""

from sqlalchemy.ext.asyncio import AsyncSession

from omoi_os.projects.models import ProjectRole
from omoi_os.projects.permissions import may_edit, may_manage, may_push, may_run, role_in
from omoi_os.visibility import Role
from tests.builders import a_member, a_project, a_user


def test_each_role_includes_the_ones_below_it() -> None:
    allowed = {role: [rule(role) for rule in (may_edit, may_run, may_push, may_manage)] for role in ProjectRole}

    assert allowed == {
        ProjectRole.OWNER: [True, True, True, True],
        ProjectRole.MAINTAINER: [True, True, True, False],
        ProjectRole.VIEWER: [False, False, False, False],
    }


async def test_an_administrator_is_an_owner_and_a_stranger_has_no_role(session: AsyncSession) -> None:
    owner, viewer, other = await a_user(session), await a_user(session), await a_user(session)
    admin = await a_user(session, role=Role.ADMIN)
    project = await a_project(session, owner)
    await a_member(session, project, viewer, ProjectRole.VIEWER)

    found = [await role_in(session, user, project.id) for user in (owner, viewer, other, admin)]

    assert found == [ProjectRole.OWNER, ProjectRole.VIEWER, None, ProjectRole.OWNER]
