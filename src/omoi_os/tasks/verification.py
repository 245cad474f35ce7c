"""Requests to verify a stored commit again. The row keeps the request until the orchestrator has a verdict."""

from collections.abc import Sequence
from datetime import datetime

from sqlalchemy.ext.asyncio import AsyncSession

from omoi_os.bus.base import Bus
from omoi_os.errors import Conflict
from omoi_os.projects.models import Project
from omoi_os.tasks import lifecycle, repository, service
from omoi_os.tasks.models import Task
from omoi_os.tickets.models import Ticket


def acceptance_of(project: Project, ticket: Ticket) -> tuple[str, ...]:
    """Return the commands that must succeed: the project's, then the ticket's."""
    return (*project.settings.get("acceptance", ()), *ticket.acceptance)


async def request(
    session: AsyncSession, bus: Bus, task: Task, *, acceptance: Sequence[str] | None, now: datetime
) -> Task:
    """Request that a task's stored commit is verified with these commands, or else with the project's and ticket's.

    Raise `Conflict` if the task is open, has no stored commit, has no commands to run, or is being verified.
    """
    task = await repository.lock(session, task.id)
    if task.status not in lifecycle.TERMINAL:
        raise Conflict(f"task {task.id} is {task.status}; wait until it has ended, then verify it again")
    if not (task.result or {}).get("commit_sha"):
        raise Conflict(f"task {task.id} has no stored commit, so there is nothing to verify")
    if task.verification_requested_at is not None:
        raise Conflict(f"task {task.id} is already being verified; wait for the verdict")
    commands = acceptance or await _configured(session, task)
    if not commands:
        raise Conflict(
            f"task {task.id} has no checks: send acceptance commands, or add some to its ticket or its project"
        )
    task.verification_requested_at, task.verification_acceptance = now, list(commands)
    task.verification_tries = 0
    await service.announce(session, bus, task)
    return task


def clear(task: Task) -> None:
    """Delete the request, because it is answered or the task starts again. The caller holds the lock on the row."""
    task.verification_requested_at = task.verification_acceptance = None


async def _configured(session: AsyncSession, task: Task) -> Sequence[str]:
    project = await session.get_one(Project, task.project_id)
    return acceptance_of(project, await session.get_one(Ticket, task.ticket_id))
