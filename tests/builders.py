"""Rows that tests start from."""

from datetime import datetime
from typing import Any
from uuid import UUID, uuid4

from sqlalchemy.ext.asyncio import AsyncSession

from omoi_os.accounts.models import User
from omoi_os.bus.base import Bus
from omoi_os.ids import new_token, token_hash
from omoi_os.projects.models import Project, ProjectMember, ProjectRole
from omoi_os.sandboxes import service as sandboxes
from omoi_os.sandboxes.lifecycle import Purpose, SandboxState
from omoi_os.sandboxes.models import Sandbox
from omoi_os.sandboxes.service import Origin
from omoi_os.tasks import service as tasks
from omoi_os.tasks.models import Task
from omoi_os.tickets.models import Ticket, TicketStatus
from omoi_os.visibility import Role

PROJECT_SETTINGS: dict[str, Any] = {
    "max_concurrent_tasks": 5,
    "budget_usd": None,
    "egress_allow": [],
    "acceptance": [],
    "provider": None,
}


async def a_user(session: AsyncSession, *, role: Role = Role.MEMBER) -> User:
    user = User(email=f"{uuid4().hex}@example.org", name="A user", role=role)
    session.add(user)
    await session.flush()
    return user


async def a_project(session: AsyncSession, owner: User | None = None, **settings: Any) -> Project:
    owner = owner or await a_user(session)
    project = Project(
        name="A project",
        github_owner="kivo360",
        github_repo=uuid4().hex,
        default_branch="main",
        forge="local",
        settings=PROJECT_SETTINGS | settings,
        created_by=owner.id,
    )
    session.add(project)
    await session.flush()
    await a_member(session, project, owner, ProjectRole.OWNER)
    return project


async def a_member(session: AsyncSession, project: Project, user: User, role: ProjectRole) -> None:
    session.add(ProjectMember(project_id=project.id, user_id=user.id, role=role))
    await session.flush()


async def a_ticket(session: AsyncSession, project: Project | None = None, **fields: Any) -> Ticket:
    project = project or await a_project(session)
    values: dict[str, Any] = {
        "title": "Add a page",
        "description": "A page that says hello.",
        "priority": "MEDIUM",
        "ticket_type": "feature",
        "workflow_mode": "quick",
        "status": TicketStatus.BACKLOG,
        "acceptance": [],
        "project_id": project.id,
        "created_by": project.created_by,
    }
    ticket = Ticket(**values | fields)
    session.add(ticket)
    await session.flush()
    return ticket


async def a_task(session: AsyncSession, bus: Bus, ticket: Ticket | None = None, **fields: Any) -> Task:
    ticket = ticket or await a_ticket(session)
    values: dict[str, Any] = {
        "title": ticket.title,
        "description": ticket.description,
        "task_type": "implementation",
        "max_attempts": 3,
    }
    return await tasks.create_task(session, bus, ticket=ticket, **values | fields)


async def a_work_sandbox(
    session: AsyncSession, bus: Bus, task: Task | None = None, *, now: datetime
) -> tuple[Sandbox, str]:
    """A claimed task's sandbox and its token, as the dispatcher writes them."""
    task = task or await a_task(session, bus)
    task.branch_created = True
    await tasks.assign(session, bus, task, lease_owner=1, until=now)
    origin = Origin(provider="local", site="here", model="scripted", budget_usd=None)
    sandbox, token = await sandboxes.open_sandbox(session, bus, task, purpose=Purpose.WORK, origin=origin, now=now)
    task.sandbox_id = sandbox.id
    await session.flush()
    return sandbox, token


async def a_spec_sandbox(
    session: AsyncSession, project: Project | None = None, *, now: datetime, spec_id: UUID | None = None, **fields: Any
) -> tuple[Sandbox, str]:
    """A sandbox that serves a spec, and its token."""
    project = project or await a_project(session)
    spec_id, token = spec_id or uuid4(), new_token("sbx")
    sandbox_id = f"spec-{spec_id.hex[-8:]}-expl-{uuid4().hex[:6]}"
    values: dict[str, Any] = {
        "id": sandbox_id,
        "gateway_socket": sandbox_id,
        "project_id": project.id,
        "spec_id": spec_id,
        "provider": "local",
        "site": "here",
        "purpose": Purpose.WORK,
        "attempt": 1,
        "fence": 1,
        "status": SandboxState.CREATING,
        "token_hash": token_hash(token),
        "model": "scripted",
        "last_seq": 0,
        "acked_seq": 0,
        "cost_usd": 0.0,
        "tokens": 0,
        "created_at": now,
    }
    sandbox = Sandbox(**values | fields)
    session.add(sandbox)
    await session.flush()
    return sandbox, token
