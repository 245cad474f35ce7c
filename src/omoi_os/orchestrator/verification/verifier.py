"""Lease the verifications that are due and run each as a job."""

from collections import Counter
from collections.abc import Sequence, Set
from functools import partial
from uuid import UUID

from omoi_os.errors import RepositoryDamaged
from omoi_os.health.orchestrator_presence import is_present
from omoi_os.orchestrator.context import Context
from omoi_os.orchestrator.upkeep import repository_damage as repositories
from omoi_os.orchestrator.verification.check_runs import patience
from omoi_os.orchestrator.verification.decisions import verify_again, verify_attempt
from omoi_os.orchestrator.verification.missing_tools import ERROR_TYPE
from omoi_os.projects.models import Project
from omoi_os.tasks import repository as tasks_repository
from omoi_os.tasks import service as tasks
from omoi_os.tasks import verification
from omoi_os.tasks.lifecycle import TERMINAL, TaskState
from omoi_os.tasks.models import Task
from omoi_os.tasks.repository import Requested
from omoi_os.tickets.models import Ticket


async def verify(context: Context) -> None:
    """Start every verification that is due and not leased by a running orchestrator.

    First verifications are limited with the active tasks; verifications on request are limited here.
    """
    async with context.sessions() as session, session.begin():
        first = await tasks_repository.verifying(session)
        requested = await tasks_repository.requested_verifications(session)
    for task_id in first:
        await _start(context, task_id)
    running = {each.task_id for each in requested if context.jobs.running(_job(each.task_id))}
    free_slots = max(1, context.settings.max_concurrent_tasks // 2) - len(running)
    for task_id in in_turn(requested, running=running):
        if free_slots <= 0:
            break
        free_slots -= await _start(context, task_id)


def in_turn(requested: Sequence[Requested], *, running: Set[UUID]) -> list[UUID]:
    """Return the waiting requests in the order to start them: projects take turns, each with its oldest first."""
    turns = Counter(each.project_id for each in requested if each.task_id in running)
    waiting: list[tuple[int, UUID]] = []
    for each in requested:
        if each.task_id not in running:
            waiting.append((turns[each.project_id], each.task_id))
            turns[each.project_id] += 1
    return [task_id for _, task_id in sorted(waiting, key=lambda turn: turn[0])]


async def _start(context: Context, task_id: UUID) -> bool:
    """Start one verification unless it is running; return whether it was started."""
    with context.health.isolated(f"task {task_id}"):
        if not context.jobs.running(_job(task_id)) and await _lease(context, task_id):
            context.jobs.start(_job(task_id), partial(_verify, context, task_id))
            return True
    return False


def _job(task_id: UUID) -> str:
    return f"verify {task_id}"


def _is_due(task: Task) -> bool:
    """Return whether a verdict is due: the first one of an attempt, or another one on request."""
    return task.status == TaskState.VERIFYING or (
        task.status in TERMINAL and task.verification_requested_at is not None
    )


async def _lease(context: Context, task_id: UUID) -> bool:
    """Lease the verification or renew the lease; return False if another running orchestrator has it."""
    async with context.sessions() as session, session.begin():
        task = await tasks_repository.lock(session, task_id)
        if not _is_due(task):
            return False
        now = context.now()
        held = task.lease_owner not in (None, context.owner) and (task.lease_expires_at or now) > now
        if held and await is_present(session, task.lease_owner or 0):
            return False
        task.lease_owner, task.lease_expires_at = context.owner, now + patience(context)
        return True


async def _verify(context: Context, task_id: UUID) -> None:
    async with context.sessions() as session:
        task = await session.get_one(Task, task_id)
        ticket = await session.get_one(Ticket, task.ticket_id)
        project = await session.get_one(Project, task.project_id)
    try:
        await repositories.require_whole(context, project)
    except RepositoryDamaged as error:
        await _give_up(context, task, reason=str(error))
        return
    if task.status == TaskState.VERIFYING:
        await verify_attempt(context, task, ticket, project)
    elif _is_due(task):
        await verify_again(context, task, ticket, project)


async def _give_up(context: Context, task: Task, *, reason: str) -> None:
    """Fail a task that cannot be verified; a stored verdict does not change."""
    async with context.sessions() as session, session.begin():
        task = await tasks_repository.lock(session, task.id)
        if task.status == TaskState.VERIFYING:
            await tasks.fail(session, context.bus, task, reason=reason, now=context.now(), error_type=ERROR_TYPE)
        elif task.verification_requested_at is not None:
            verification.clear(task)
            task.lease_owner = task.lease_expires_at = None
            await tasks.announce(session, context.bus, task)
