"""Changes the state of tasks. Each function runs in the caller's transaction."""

from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime, timedelta
from typing import Any
from uuid import UUID

from sqlalchemy.ext.asyncio import AsyncSession

from omoi_os.bus.base import Bus, Topic
from omoi_os.errors import Conflict
from omoi_os.forges.branches import branch_name, free_name
from omoi_os.projects import repository as project_rows
from omoi_os.projects.models import Project
from omoi_os.protocol.assignment import ExecutionMode
from omoi_os.stream.models import Change
from omoi_os.stream.outbox import publish
from omoi_os.tasks import lifecycle, repository
from omoi_os.tasks.lifecycle import EndCause, TaskState
from omoi_os.tasks.models import PRIORITY_RANK, Task, TaskDependency
from omoi_os.tasks.outcomes import of_task, verdict_of
from omoi_os.tickets.models import Ticket, TicketStatus
from omoi_os.tickets.status import derive

MAX_BACKOFF = timedelta(minutes=5)
#: How many attempts the platform or the host may end before the task fails.
MAX_PLATFORM_ENDS = 20


@dataclass(frozen=True, slots=True)
class Terms:
    """Options of a task that differ from the defaults."""

    #: None uses the installation's model.
    model: str | None = None
    #: How long the worker waits for further messages.
    linger_seconds: int = 0
    #: Whether a reply without a commit is a result.
    answer_is_enough: bool = False


async def create_task(
    session: AsyncSession,
    bus: Bus,
    *,
    ticket: Ticket,
    title: str,
    description: str,
    task_type: str,
    max_attempts: int,
    depends_on: Sequence[UUID] = (),
    terms: Terms = Terms(),  # noqa: B008  frozen
) -> Task:
    """Create and queue a task of a ticket; it is blocked while a task it depends on is open."""
    is_first = ticket in session.new
    task = await repository.insert(
        session,
        ticket_id=ticket.id,
        project_id=ticket.project_id,
        title=title,
        description=description,
        task_type=task_type,
        priority=ticket.priority,
        priority_rank=PRIORITY_RANK[ticket.priority],
        status=TaskState.PENDING,
        branch_name=await _free_branch_name(
            session,
            await session.get_one(Project, ticket.project_id),
            branch_name(title=title, ticket_type=ticket.ticket_type, priority=ticket.priority),
        ),
        model=terms.model,
        linger_seconds=terms.linger_seconds,
        requires_commit=task_type == ExecutionMode.IMPLEMENTATION and not terms.answer_is_enough,
        attempt=1,
        max_attempts=max_attempts,
        fence=0,
        cost_usd=0.0,
        tokens=0,
        created_by=ticket.created_by,
    )
    if depends_on:
        session.add_all(TaskDependency(task_id=task.id, depends_on_id=other) for other in dict.fromkeys(depends_on))
        await session.flush()
        if await repository.open_dependencies(session, task.id):
            task.status = TaskState.BLOCKED
    if is_first:
        await _settle_alone(session, bus, task, ticket)
    else:
        await _settle(session, bus, task)
    return task


async def cancel_task(session: AsyncSession, bus: Bus, task: Task, *, now: datetime) -> Task:
    """Cancel a task. The orchestrator then stops its sandbox."""
    task = await repository.lock(session, task.id)
    if task.status in lifecycle.TERMINAL:
        raise Conflict(f"task {task.id} is already {task.status}, so it cannot be cancelled")
    _move(task, TaskState.CANCELLED)
    task.completed_at = now
    await _settle(session, bus, task)
    return task


async def retry_task(session: AsyncSession, bus: Bus, task: Task, *, now: datetime, message: str | None = None) -> Task:
    """Give a failed task at least one more attempt on the same branch, with a message for the agent."""
    task = await repository.lock(session, task.id)
    if task.status != TaskState.FAILED:
        raise Conflict(f"task {task.id} is {task.status}; only a failed task can be retried")
    _move(task, TaskState.PENDING)
    task.attempt += 1
    task.max_attempts = max(task.max_attempts, task.attempt)
    task.platform_ends = 0
    task.feedback = "\n\n".join(part for part in (task.feedback, message) if part) or None
    task.sandbox_id = task.error = task.error_type = task.completed_at = None
    task.verification_requested_at = task.verification_acceptance = None
    task.lease_owner = task.lease_expires_at = None
    task.not_before = now
    await _settle(session, bus, task)
    return task


async def assign(
    session: AsyncSession, bus: Bus, task: Task, *, lease_owner: int, until: datetime, only_of: Ticket | None = None
) -> None:
    """Claim a pending task for a new sandbox. The fence rises, so every earlier attempt is superseded.

    `only_of` is the task's ticket, if the caller holds its lock and knows that it has no other task.
    """
    _move(task, TaskState.ASSIGNED)
    task.fence += 1
    task.lease_owner, task.lease_expires_at = lease_owner, until
    if only_of is not None:
        await _settle_alone(session, bus, task, only_of)
    else:
        await _settle(session, bus, task)


async def worker_reported(session: AsyncSession, bus: Bus, task: Task, *, now: datetime) -> None:
    """Mark an assigned task as running, on the first event of its worker."""
    if task.status == TaskState.ASSIGNED:
        _move(task, TaskState.RUNNING)
        task.started_at = task.started_at or now
        task.lease_owner = task.lease_expires_at = None
        await _settle(session, bus, task)


async def agent_says_done(session: AsyncSession, bus: Bus, task: Task, *, final_output: str) -> None:
    """Mark a running task as verifying. Only the verifier completes it."""
    if task.status == TaskState.RUNNING:
        _move(task, TaskState.VERIFYING)
        task.lease_owner = task.lease_expires_at = None
        task.verification_tries = 0
        task.result = {
            "final_output": final_output,
            "commit_sha": None,
            "verdict": None,
            "verified": False,
            "checks": [],
            "changed_checks": [],
            "reason": None,
        }
        await _settle(session, bus, task)


async def complete(session: AsyncSession, bus: Bus, task: Task, *, result: Mapping[str, Any], now: datetime) -> None:
    """Accept the result of a task, and unblock the tasks that depend on it."""
    _move(task, TaskState.COMPLETED)
    task.result, task.error, task.error_type, task.feedback = dict(result), None, None, None
    task.completed_at = now
    task.lease_owner = task.lease_expires_at = None
    await _settle(session, bus, task)
    for dependent in await repository.blocked_dependents(session, task.id):
        if not await repository.open_dependencies(session, dependent.id):
            _move(dependent, TaskState.PENDING)
            await _settle(session, bus, dependent)


async def give_back(
    session: AsyncSession,
    bus: Bus,
    task: Task,
    *,
    cause: EndCause,
    reason: str,
    backoff: timedelta,
    now: datetime,
) -> None:
    """End an attempt that did not succeed: queue the task again with back-off, or fail it when it has no attempt left.

    Only the work's own failures use up attempts. Where the platform or the host ended the attempt, `max_attempts`
    rises with `attempt`; after `MAX_PLATFORM_ENDS` of those the task fails, so that it is not retried forever.
    """
    if cause == EndCause.WORK and task.attempt >= task.max_attempts:
        await fail(session, bus, task, reason=f"{reason} (attempt {task.attempt} of {task.max_attempts})", now=now)
        return
    if cause == EndCause.PLATFORM and task.platform_ends >= MAX_PLATFORM_ENDS:
        count = task.platform_ends + 1
        full = f"{reason} (the platform or the host ended {count} attempts; retry the task once the cause is fixed)"
        await fail(session, bus, task, reason=full, now=now)
        return
    _move(task, TaskState.PENDING)
    if cause == EndCause.PLATFORM:
        doublings = task.platform_ends
        task.platform_ends += 1
        task.max_attempts += 1
    else:
        doublings = max(0, task.attempt - 1 - task.platform_ends)
    task.not_before = now + min(backoff * 2 ** min(doublings, 30), MAX_BACKOFF)
    task.attempt += 1
    task.error = reason
    task.sandbox_id = None
    task.lease_owner = task.lease_expires_at = None
    await _settle(session, bus, task)


async def postpone(session: AsyncSession, bus: Bus, task: Task, *, reason: str, until: datetime) -> None:
    """Delay a pending task and record why. No sandbox was created, so no attempt is counted."""
    task.not_before = until
    task.error = reason
    await _settle(session, bus, task)


async def requeue(session: AsyncSession, bus: Bus, task: Task, *, reason: str) -> None:
    """Queue a task again because the platform stops during an attempt, without using one up."""
    _move(task, TaskState.PENDING)
    task.error = reason
    task.attempt += 1
    task.max_attempts += 1
    task.sandbox_id = None
    task.lease_owner = task.lease_expires_at = None
    await _settle(session, bus, task)


async def fail(
    session: AsyncSession, bus: Bus, task: Task, *, reason: str, now: datetime, error_type: str | None = None
) -> None:
    """Fail a task that gets no further attempt."""
    _move(task, TaskState.FAILED)
    task.error, task.error_type = reason, error_type
    task.completed_at = now
    task.lease_owner = task.lease_expires_at = None
    await _settle(session, bus, task)


async def announce(session: AsyncSession, bus: Bus, task: Task) -> None:
    """Publish that the task has changed, and wake the dispatcher. The caller holds the lock on the row."""
    await _settle(session, bus, task)


def _move(task: Task, target: TaskState) -> None:
    """Change the state; nothing else does. The caller holds the lock on the row."""
    lifecycle.check(TaskState(task.status), target)
    task.status = target


async def _settle(session: AsyncSession, bus: Bus, task: Task) -> None:
    """After a change: derive the ticket's status, publish the change and wake the dispatcher."""
    await session.flush()
    # A stronger lock would deadlock with the foreign key of a new task, which locks its ticket as well.
    ticket = await session.get_one(Ticket, task.ticket_id, with_for_update={"key_share": True})
    await _publish(session, bus, task, ticket, derive(await repository.states_of_ticket(session, ticket.id)))


async def _settle_alone(session: AsyncSession, bus: Bus, task: Task, ticket: Ticket) -> None:
    """Do the same for the only task of a ticket that the caller has locked, without a query."""
    await _publish(session, bus, task, ticket, derive([TaskState(task.status)]))


async def _publish(session: AsyncSession, bus: Bus, task: Task, ticket: Ticket, status: TicketStatus) -> None:
    """Publish the change, and wake the orchestrators unless only the task's sandbox can continue."""
    if status != ticket.status:
        ticket.status = status
        about = {"ticket_id": str(ticket.id), "title": ticket.title, "status": status}
        publish(session, Change.TICKET_STATUS, about, project_id=task.project_id)
    data = {
        "task_id": str(task.id),
        "ticket_id": str(task.ticket_id),
        "title": task.title,
        "status": task.status,
        "outcome": of_task(task.status, verdict_of(task.result)),
        "attempt": task.attempt,
        "error": task.error,
    }
    publish(session, Change.TASK_STATUS, data, project_id=task.project_id, sandbox_id=task.sandbox_id)
    await bus.announce(session, Topic.TASKS, str(task.id))
    if task.status not in (TaskState.ASSIGNED, TaskState.RUNNING):
        await bus.announce(session, Topic.WORK, "")


async def rename_branch(session: AsyncSession, task: Task, ticket: Ticket, *, existing: Collection[str]) -> str:
    """Rename the branch of a task, which does not exist yet, so that it collides with none of these branches.

    The caller holds the lock on the task. This locks the project, so that no new task takes the same name.
    """
    project = await project_rows.lock(session, task.project_id)
    wanted = branch_name(title=task.title, ticket_type=ticket.ticket_type, priority=ticket.priority)
    task.branch_name = await _free_branch_name(session, project, wanted, existing)
    await session.flush()
    return task.branch_name


async def _free_branch_name(
    session: AsyncSession, project: Project, wanted: str, existing: Collection[str] = ()
) -> str:
    """Return a name that differs from the branches of all tasks, all existing branches and the default branch."""
    of_tasks = await repository.branch_names_like(session, project.id, wanted)
    return free_name(wanted, {*of_tasks, *existing, project.default_branch})
