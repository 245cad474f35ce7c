"""Sandboxes for people: request, list, show, stop."""

import asyncio
import contextlib
from collections.abc import Sequence
from typing import Annotated
from uuid import UUID

from fastapi import Query, Response
from sqlalchemy.ext.asyncio import AsyncSession

from omoi_os.accounts.deps import CurrentUser
from omoi_os.accounts.idempotency import OnlyOnce
from omoi_os.bus.base import Topic
from omoi_os.errors import NotFound
from omoi_os.http import paging
from omoi_os.http.choices import AnyCase
from omoi_os.http.deps import AppBus, AppMasker, AppSettings, DbSession, Now
from omoi_os.http.problems import problems
from omoi_os.http.routers import make_router
from omoi_os.http.text import Search
from omoi_os.sandboxes import repository, salvages, service
from omoi_os.sandboxes.deps import ReadableSandbox, RunnableSandbox, VisibleSandbox
from omoi_os.sandboxes.lifecycle import ENDED, SandboxState, StopCause
from omoi_os.sandboxes.models import Sandbox
from omoi_os.sandboxes.schemas import HealthOut, SandboxIn, SandboxOrdered, SandboxOut, SandboxPage
from omoi_os.tasks import repository as task_rows
from omoi_os.tasks.lifecycle import TaskState
from omoi_os.tasks.models import Task
from omoi_os.tasks.schemas import TaskOut
from omoi_os.tasks.service import Terms
from omoi_os.tickets import service as tickets

#: How long a request waits for the id of its sandbox.
CLAIM_SECONDS = 5.0

router = make_router("/sandboxes", tags=["sandboxes"], refusals=(401, 403, 422, 503))


async def _shown(session: AsyncSession, rows: Sequence[Sandbox]) -> list[SandboxOut]:
    tasks = await repository.glance_at_tasks(session, rows)
    unsaved = await salvages.of(session, rows)
    return [
        SandboxOut.of(row, task=tasks[row.task_id] if row.task_id else None, salvage=unsaved.get(row.id))
        for row in rows
    ]


@router.get("/health", summary="Check that sandboxes can be listed")
async def sandboxes_health(_user: CurrentUser) -> HealthOut:
    """Answer `ok` if the caller is authenticated and the database is available."""
    return HealthOut()


@router.get("", summary="List sandboxes")
async def list_sandboxes(
    user: CurrentUser,
    session: DbSession,
    status: Annotated[
        AnyCase[SandboxState] | None, Query(description="Return only sandboxes with this status.")
    ] = None,
    task_id: Annotated[UUID | None, Query(description="Return only sandboxes of this task.")] = None,
    project_id: Annotated[UUID | None, Query(description="Return only sandboxes of this project.")] = None,
    q: Annotated[
        Search | None,
        Query(description="Return only sandboxes whose id starts with this, or whose task has it in its title."),
    ] = None,
    limit: paging.Limit = 50,
    cursor: paging.Cursor = None,
) -> SandboxPage:
    """Return the sandboxes you may see, newest first."""
    after = paging.decode("sandboxes", cursor, paging.moment, paging.plain) if cursor else None
    rows = await repository.list_sandboxes(
        session,
        user=user,
        status=status,
        task_id=task_id,
        project_id=project_id,
        search=q,
        limit=limit + 1,
        cursor=(after[0], after[1]) if after else None,
    )
    found, next_cursor = paging.cut(rows, limit, lambda row: paging.encode("sandboxes", row.created_at, row.id))
    return SandboxPage(items=await _shown(session, found), next_cursor=next_cursor)


@router.post("", status_code=201, summary="Run one prompt in a sandbox", responses=problems(404, 413))
async def order_sandbox(
    user: CurrentUser,
    body: SandboxIn,
    once: OnlyOnce,
    session: DbSession,
    bus: AppBus,
    settings: AppSettings,
    now: Now,
) -> SandboxOrdered:
    """Create an ad hoc task: one attempt, whose result may be a reply without a commit.

    A ticket and a task are created like any other. The worker stays for a while after its reply and takes further
    messages. The response waits a moment for the sandbox's id; under load `sandbox_id` is null, and
    `GET /tasks/{task_id}` shows it later.
    """
    terms = Terms(model=body.model, linger_seconds=settings.linger_seconds, answer_is_enough=True)
    async with bus.listen(Topic.SANDBOXES) as wakeups:
        made = await tickets.create_ticket(session, bus, user, body.ticket(), max_attempts=1, now=now, terms=terms)
        ticket, task = made.ticket, made.task
        ordered = once.answer(
            SandboxOrdered(sandbox_id=None, task_id=task.id, ticket_id=ticket.id, status=TaskState(task.status))
        )
        await session.commit()
        with contextlib.suppress(TimeoutError):
            async with asyncio.timeout(CLAIM_SECONDS):
                async for _ in wakeups:
                    await session.refresh(task)
                    await session.commit()
                    if task.sandbox_id is not None:
                        break
    # Stored again, so that a repeated request also returns the sandbox's id.
    return once.answer(ordered.model_copy(update={"sandbox_id": task.sandbox_id, "status": TaskState(task.status)}))


@router.get("/{sandbox_id}", summary="Show a sandbox", responses=problems(404))
async def get_sandbox(sandbox: VisibleSandbox, session: DbSession) -> SandboxOut:
    """Return a sandbox."""
    return (await _shown(session, [sandbox]))[0]


@router.delete(
    "/{sandbox_id}",
    status_code=202,
    summary="Stop a sandbox",
    responses=problems(404) | {200: {"model": SandboxOut, "description": "The sandbox had already ended."}},
)
async def stop_sandbox(
    sandbox: RunnableSandbox, user: CurrentUser, session: DbSession, bus: AppBus, response: Response
) -> SandboxOut:
    """Request that a sandbox is stopped (202); the orchestrator stops it. If it has already ended, return it (200)."""
    stopped = await service.request_stop(
        session, bus, sandbox, cause=StopCause.PERSON, reason=f"stopped by {user.email}"
    )
    if stopped.status in ENDED:
        response.status_code = 200
    return (await _shown(session, [stopped]))[0]


@router.post(
    "/{sandbox_id}/salvage", status_code=202, summary="Retry saving unsaved work", responses=problems(404, 409)
)
async def retry_salvage(sandbox: RunnableSandbox, session: DbSession, bus: AppBus, now: Now) -> SandboxOut:
    """Try to save the uncommitted work of an ended sandbox now. Answers 409 if there is no unsaved work."""
    await salvages.retry_now(session, bus, sandbox, now=now)
    return (await _shown(session, [sandbox]))[0]


@router.delete("/{sandbox_id}/salvage", summary="Drop unsaved work", responses=problems(404, 409))
async def drop_salvage(
    sandbox: RunnableSandbox, user: CurrentUser, session: DbSession, bus: AppBus, now: Now, masker: AppMasker
) -> SandboxOut:
    """Delete the disk of an ended sandbox although its uncommitted work is not saved.

    This cannot be undone and is recorded in the audit trail. Answers 409 if there is no unsaved work.
    """
    reason = f"dropped by {user.email}"
    await salvages.drop(session, bus, sandbox, reason=reason, by=user.email, now=now, masker=masker)
    return (await _shown(session, [sandbox]))[0]


@router.get("/{sandbox_id}/task", summary="Show a sandbox's task", responses=problems(404, 409))
async def get_sandbox_task(sandbox: ReadableSandbox, session: DbSession) -> TaskOut:
    """Return the task of a sandbox. The worker inside reads it with the sandbox's token.

    Answers 404 if the sandbox serves a spec.
    """
    if sandbox.task_id is None:
        raise NotFound(f"sandbox {sandbox.id} serves spec {sandbox.spec_id} and has no task")
    task = await session.get_one(Task, sandbox.task_id)
    return TaskOut.of(task, (await task_rows.depends_on(session, [task.id]))[task.id])
