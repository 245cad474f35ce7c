"""Sandboxes for people: list, show, stop, and read what came out of them."""

import asyncio
from typing import Annotated, Literal
from uuid import UUID

from fastapi import APIRouter, Query, Response

from omoi_os.api import paging
from omoi_os.api.bodies import StrictRoute
from omoi_os.api.deps import AppBus, CurrentUser, DbSession
from omoi_os.api.errors import problems
from omoi_os.sandboxes import blobs, repository, service, transcripts
from omoi_os.sandboxes.deps import ReadableSandbox, VisibleSandbox
from omoi_os.sandboxes.lifecycle import ENDED, SandboxState, StopCause
from omoi_os.sandboxes.schemas import EventOut, EventPage, EventTypeName, HealthOut, SandboxOut, SandboxPage
from omoi_os.tasks import repository as task_rows
from omoi_os.tasks.models import Task
from omoi_os.tasks.schemas import TaskOut

MAX_EVENTS = 500
#: What agents wrote is shown as what it says it is, never guessed to be a page.
_RAW = {"X-Content-Type-Options": "nosniff"}

router = APIRouter(
    prefix="/sandboxes", tags=["sandboxes"], route_class=StrictRoute, responses=problems(401, 403, 422, 503)
)


@router.get("/health", summary="Whether this part answers")
async def sandboxes_health(_user: CurrentUser) -> HealthOut:
    """Answers when the database does."""
    return HealthOut()


@router.get("", summary="List sandboxes")
async def list_sandboxes(
    user: CurrentUser,
    session: DbSession,
    status: Annotated[SandboxState | None, Query()] = None,
    task_id: Annotated[UUID | None, Query()] = None,
    project_id: Annotated[UUID | None, Query()] = None,
    limit: paging.Limit = 50,
    cursor: paging.Cursor = None,
) -> SandboxPage:
    """The sandboxes you may see, newest first."""
    after = paging.decode("sandboxes", cursor, paging.moment, paging.plain) if cursor else None
    rows = await repository.list_sandboxes(
        session,
        visible_to=user,
        status=status,
        task_id=task_id,
        project_id=project_id,
        limit=limit + 1,
        cursor=(after[0], after[1]) if after else None,
    )
    found, next_cursor = paging.cut(rows, limit, lambda row: paging.encode("sandboxes", row.created_at, row.id))
    return SandboxPage(items=[SandboxOut.model_validate(row) for row in found], next_cursor=next_cursor)


@router.get("/{sandbox_id}", summary="Show a sandbox", responses=problems(404))
async def get_sandbox(sandbox: VisibleSandbox) -> SandboxOut:
    """One sandbox."""
    return SandboxOut.model_validate(sandbox)


@router.delete(
    "/{sandbox_id}",
    status_code=202,
    summary="Stop a sandbox",
    responses=problems(404) | {200: {"model": SandboxOut, "description": "It had ended already."}},
)
async def stop_sandbox(
    sandbox: VisibleSandbox, user: CurrentUser, session: DbSession, bus: AppBus, response: Response
) -> SandboxOut:
    """Ask for a sandbox to be stopped; the orchestrator does it (202). One that has ended is shown as it is (200)."""
    stopped = await service.request_stop(
        session, bus, sandbox, cause=StopCause.PERSON, reason=f"stopped by {user.email}"
    )
    if stopped.status in ENDED:
        response.status_code = 200
    return SandboxOut.model_validate(stopped)


@router.get("/{sandbox_id}/task", summary="Show a sandbox's task", responses=problems(404, 409))
async def get_sandbox_task(sandbox: ReadableSandbox, session: DbSession) -> TaskOut:
    """What the sandbox is for. The worker inside reads it, too, with its own token."""
    task = await session.get_one(Task, sandbox.task_id)
    return TaskOut.of(task, (await task_rows.depends_on(session, [task.id]))[task.id])


@router.get("/{sandbox_id}/events", summary="List a sandbox's events", responses=problems(404))
async def list_events(
    sandbox: VisibleSandbox,
    session: DbSession,
    event_type: Annotated[EventTypeName | None, Query()] = None,
    order: Annotated[Literal["asc", "desc"], Query(description="By number; newest first by default.")] = "desc",
    limit: Annotated[int, Query(ge=1, le=MAX_EVENTS, description="How many items at most.")] = 50,
    cursor: paging.Cursor = None,
) -> EventPage:
    """Everything that was reported, in order, numbered without gaps from 1."""
    kind = f"events-{order}"
    rows = await repository.list_events(
        session,
        sandbox.id,
        event_type=event_type,
        order=order,
        limit=limit + 1,
        cursor_seq=paging.decode(kind, cursor, paging.number)[0] if cursor else None,
    )
    found, next_cursor = paging.cut(rows, limit, lambda row: paging.encode(kind, row.seq))
    total = (
        sandbox.last_seq
        if event_type is None
        else await repository.count_events(session, sandbox.id, event_type=event_type)
    )
    return EventPage(
        items=[EventOut.model_validate(row) for row in found],
        next_cursor=next_cursor,
        total_count=total,
        sandbox_id=sandbox.id,
    )


@router.get(
    "/{sandbox_id}/events/{event_id}/diff",
    summary="Show the full diff of a file edit",
    response_class=Response,
    responses=problems(404)
    | {200: {"description": "A unified diff.", "content": {"text/x-diff": {"schema": {"type": "string"}}}}},
)
async def get_diff(sandbox: VisibleSandbox, event_id: str, session: DbSession) -> Response:
    """The whole unified diff of an `agent.file_edited` event, whatever its size."""
    return Response(await blobs.full_diff(session, sandbox, event_id), media_type="text/x-diff", headers=_RAW)


@router.get(
    "/{sandbox_id}/transcript",
    summary="Download the agent's conversation",
    response_class=Response,
    responses=problems(404) | {200: {"description": "One JSON value a line.", "content": {"application/x-ndjson": {}}}},
)
async def get_transcript(sandbox: VisibleSandbox, session: DbSession) -> Response:
    """The conversation as the agent's SDK writes it, saved on every turn."""
    transcript = await transcripts.get(session, sandbox)
    content = await asyncio.to_thread(transcripts.unpack, transcript.content)
    headers = _RAW | {"Content-Disposition": f'attachment; filename="{sandbox.id}.jsonl"'}
    return Response(content, media_type="application/x-ndjson", headers=headers)
