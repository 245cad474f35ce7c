"""Tasks: each is one unit of work for one agent."""

from typing import Annotated
from uuid import UUID

from fastapi import Query
from sqlalchemy.ext.asyncio import AsyncSession

from omoi_os.accounts.deps import CurrentUser
from omoi_os.accounts.idempotency import OnlyOnce
from omoi_os.http import paging
from omoi_os.http.choices import AnyCase
from omoi_os.http.deps import AppBus, AppSettings, DbSession, Now
from omoi_os.http.problems import problems
from omoi_os.http.routers import make_router
from omoi_os.projects import permissions
from omoi_os.projects.permissions import Permission
from omoi_os.tasks import repository, service, verification
from omoi_os.tasks.deps import RunnableTask, VisibleTask
from omoi_os.tasks.lifecycle import TaskState
from omoi_os.tasks.models import Task
from omoi_os.tasks.schemas import RetryIn, TaskIn, TaskOut, TaskPage, VerifyIn
from omoi_os.tickets import service as tickets

router = make_router("/tasks", tags=["tasks"], refusals=(401, 403, 404, 413, 422, 503))


async def _shown(session: AsyncSession, task: Task) -> TaskOut:
    return TaskOut.of(task, (await repository.depends_on(session, [task.id]))[task.id])


@router.get("", summary="List tasks")
async def list_tasks(
    user: CurrentUser,
    session: DbSession,
    status: Annotated[AnyCase[TaskState] | None, Query(description="Return only tasks with this status.")] = None,
    ticket_id: Annotated[UUID | None, Query(description="Return only tasks of this ticket.")] = None,
    project_id: Annotated[UUID | None, Query(description="Return only tasks of this project.")] = None,
    has_sandbox: Annotated[
        bool | None, Query(description="`true`: only tasks with a `sandbox_id`; `false`: only tasks without one.")
    ] = None,
    limit: paging.Limit = 50,
    cursor: paging.Cursor = None,
) -> TaskPage:
    """Return the tasks you may see, newest first."""
    rows = await repository.list_tasks(
        session,
        user=user,
        status=status,
        ticket_id=ticket_id,
        project_id=project_id,
        has_sandbox=has_sandbox,
        limit=limit + 1,
        before=paging.before_id("tasks", cursor),
    )
    tasks, next_cursor = paging.cut(rows, limit, lambda task: paging.encode("tasks", task.id))
    waits = await repository.depends_on(session, [task.id for task in tasks])
    return TaskPage(items=[TaskOut.of(task, waits[task.id]) for task in tasks], next_cursor=next_cursor)


@router.post("", status_code=201, summary="Add a task to a ticket", responses=problems(409))
async def create_task(
    user: CurrentUser,
    body: TaskIn,
    once: OnlyOnce,
    session: DbSession,
    bus: AppBus,
    settings: AppSettings,
) -> TaskOut:
    """Add a task to a ticket and queue it. Answers 409 if the ticket is cancelled."""
    ticket = await tickets.get_visible(session, body.ticket_id, user=user)
    await permissions.require(session, user, ticket.project_id, Permission.RUN)
    task = await tickets.add_task(session, bus, ticket, body, max_attempts=body.max_attempts or settings.max_attempts)
    return once.answer(await _shown(session, task))


@router.get("/{task_id}", summary="Show a task")
async def get_task(task: VisibleTask, session: DbSession) -> TaskOut:
    """Return a task."""
    return await _shown(session, task)


@router.post("/{task_id}/cancel", summary="Cancel a task", responses=problems(409))
async def cancel_task(task: RunnableTask, session: DbSession, bus: AppBus, now: Now) -> TaskOut:
    """Cancel a task for good and stop its sandbox. Answers 409 if it has already ended."""
    return await _shown(session, await service.cancel_task(session, bus, task, now=now))


@router.post("/{task_id}/retry", summary="Retry a failed task", responses=problems(409))
async def retry_task(
    task: RunnableTask, session: DbSession, bus: AppBus, now: Now, body: RetryIn | None = None
) -> TaskOut:
    """Give a failed task another attempt on its branch. Answers 409 unless the task has failed."""
    message = body.message if body else None
    return await _shown(session, await service.retry_task(session, bus, task, now=now, message=message))


@router.post("/{task_id}/verify", status_code=202, summary="Verify a task's commit again", responses=problems(409))
async def verify_task(
    task: RunnableTask, session: DbSession, bus: AppBus, now: Now, body: VerifyIn | None = None
) -> TaskOut:
    """Run checks on the stored commit in fresh sandboxes: those in the body, or else the project's and the ticket's.

    This is not a new attempt. It changes only `result`; the task keeps its status. Commands in the body are used for
    this verification only: to keep them, change the ticket's `acceptance`. Answers 409 if the task has not ended, has
    no stored commit, has no commands to run, or is already being verified (`verification_requested_at`).
    """
    acceptance = body.acceptance if body else None
    return await _shown(session, await verification.request(session, bus, task, acceptance=acceptance, now=now))
