"""Who may see a project: one rule, in every form in which statements use it."""

import pytest
from sqlalchemy import select, text
from sqlalchemy.ext.asyncio import AsyncSession

from omoi_os.accounts.models import Role
from omoi_os.projects.models import Project
from omoi_os.projects.visibility import audience_sql, restricted_to, visible_sql, visible_to
from tests.builders import a_project, a_user


@pytest.mark.parametrize("role", Role)
async def test_every_form_of_the_rule_finds_the_same_projects(session: AsyncSession, role: Role) -> None:
    user = await a_user(session, role=role)
    own, other = await a_project(session, user), await a_project(session)
    viewer = restricted_to(user.id, user.role)

    built = set((await session.execute(select(Project.id).where(visible_to(user, Project.id)))).scalars())
    statement = text(f"SELECT id FROM projects WHERE {visible_sql('projects.id', ':viewer')}")
    written = set((await session.execute(statement, {"viewer": viewer})).scalars())
    audiences = (await session.execute(text(f"SELECT id, {audience_sql('projects')} AS users FROM projects"))).all()
    seen = {row.id for row in audiences if viewer is None or viewer in row.users}

    expected = {own.id, other.id} if role == Role.ADMIN else {own.id}
    assert built == written == seen == expected
