"""Who may see a project: one rule, in every form in which statements use it."""

import pytest
from sqlalchemy import select, text
from sqlalchemy.ext.asyncio import AsyncSession

from omoi_os.projects.models import Project, ProjectRole
from omoi_os.visibility import Role, audience_sql, restricted_to, visible_sql, visible_to
from tests.builders import a_member, a_project, a_user


@pytest.mark.parametrize("role", Role)
async def test_every_form_of_the_rule_finds_the_same_projects(session: AsyncSession, role: Role) -> None:
    user = await a_user(session, role=role)
    own, other = await a_project(session, user), await a_project(session)
    joined = [await a_project(session) for _ in ProjectRole]
    for project, project_role in zip(joined, ProjectRole, strict=True):
        await a_member(session, project, user, project_role)
    viewer = restricted_to(user.id, user.role)

    built = set((await session.execute(select(Project.id).where(visible_to(user, Project.id)))).scalars())
    statement = text(f"SELECT id FROM projects WHERE {visible_sql('projects.id', ':viewer')}")
    written = set((await session.execute(statement, {"viewer": viewer})).scalars())
    audiences = (await session.execute(text(f"SELECT id, {audience_sql('projects.id')} AS users FROM projects"))).all()
    seen = {row.id for row in audiences if viewer is None or viewer in row.users}

    visible = {own.id, *(project.id for project in joined)}
    expected = visible | {other.id} if role == Role.ADMIN else visible
    assert built == written == seen == expected


async def test_a_creator_who_was_removed_sees_the_project_no_longer(session: AsyncSession) -> None:
    user = await a_user(session)
    project = await a_project(session, user)
    await session.execute(text("DELETE FROM project_members WHERE user_id = :id"), {"id": user.id})

    assert project.created_by == user.id
    assert (await session.execute(select(Project.id).where(visible_to(user, Project.id)))).all() == []
