"""Live changes: one WebSocket for everything, and server-sent events for one sandbox."""

import asyncio
from collections.abc import AsyncIterator
from contextlib import AsyncExitStack
from dataclasses import replace
from typing import Annotated, Any

from fastapi import Depends, Header, Query, Request, Response
from sqlalchemy.exc import SQLAlchemyError
from sqlalchemy.ext.asyncio import AsyncSession
from starlette.responses import StreamingResponse
from starlette.websockets import WebSocket

from omoi_os.accounts.auth import BearerToken, sent_token
from omoi_os.accounts.deps import CurrentUser, known_user, note_use
from omoi_os.accounts.models import User
from omoi_os.api.stream.connection import Connection
from omoi_os.api.stream.sockets import socket_of
from omoi_os.db.base import Sessions
from omoi_os.db.clock import Clock
from omoi_os.errors import DatabaseUnavailable, NotReady, OmoiError, RequestError
from omoi_os.http.origins import check_origin
from omoi_os.http.problems import problem, problems
from omoi_os.http.routers import make_router
from omoi_os.projects import service as projects
from omoi_os.sandboxes.deps import VisibleSandbox, sandbox_of_token, visible_sandbox
from omoi_os.sandboxes.lifecycle import ENDED
from omoi_os.sandboxes.models import Sandbox
from omoi_os.stream.client import Client, Viewer
from omoi_os.stream.filters import Filter
from omoi_os.stream.hub import Hub
from omoi_os.stream.lines import event_line
from omoi_os.stream.reader import read_events
from omoi_os.stream.requests import Wanted, parse_query
from omoi_os.tasks.lifecycle import TaskState
from omoi_os.tasks.models import Task
from omoi_os.visibility import restricted_to

#: Interval of comments while nothing happens, so that proxies keep the connection open.
KEEPALIVE_SECONDS = 15.0
_RETRY_SECONDS = 1.0

router = make_router("", tags=["stream"])


@router.websocket("/ws/events")
async def stream_changes(websocket: WebSocket) -> None:
    """Send every change that the caller may see; `docs/stream.md` describes the lines."""
    async with AsyncExitStack() as stack:
        try:
            connection, first = await _open(websocket, stack)
        except OmoiError as error:
            await websocket.send_denial_response(problem(error.status, str(error), code=error.code))
            return
        except (SQLAlchemyError, OSError):
            await websocket.send_denial_response(problem(503, str(DatabaseUnavailable())))
            return
        await websocket.accept()
        await connection.serve(websocket, first)


async def _open(websocket: WebSocket, stack: AsyncExitStack) -> tuple[Connection, Wanted | None]:
    """Check the request and join the hub, before the WebSocket is accepted."""
    check_origin(websocket.headers)
    first = parse_query(websocket.query_params.multi_items())
    # Browsers always send Origin here, so a cookie without it is refused.
    token = sent_token(websocket, method="CONNECT")
    hub: Hub = websocket.app.state.hub
    sessions: Sessions = websocket.app.state.sessions
    socket = socket_of(websocket.scope)
    if socket is None:
        raise NotReady("this server cannot stream; start it with `omoi api`")
    now = websocket.app.state.clock.now()
    async with sessions() as session:
        identity = await known_user(session, token, sandbox_of=sandbox_of_token, now=now)
        note_use(websocket, identity, now=now)
        user = identity.user
        if first is not None:
            await _check(session, first.where, user=user)
    viewer = Viewer(identity.id, user.id, restricted_to(user.id, user.role))
    client = Client(socket, viewer, hub.position)
    await stack.enter_async_context(hub.joined(client))
    if first is not None and first.since is None:
        first = replace(first, since=hub.position)

    async def check(where: Filter) -> None:
        async with sessions() as session:
            await _check(session, where, user=await session.get_one(User, user.id))

    return Connection(hub, client, check), first


async def _check(session: AsyncSession, where: Filter, *, user: User) -> None:
    """Raise `NotFound` for a sandbox or project that does not exist or is not visible."""
    if where.sandbox_id is not None:
        await visible_sandbox(where.sandbox_id, user, session)
    if where.project_id is not None:
        await projects.get_visible(session, where.project_id, user=user)


async def _same_origin(request: Request) -> None:
    check_origin(request.headers)


_EVENT_STREAM: dict[int | str, dict[str, Any]] = {
    200: {
        "description": "Server-sent events: `id` is the event's number, `data` the event as one line of JSON.",
        "content": {"text/event-stream": {"schema": {"type": "string"}}},
    }
}
_HEADERS = {"Cache-Control": "no-store", "X-Accel-Buffering": "no", "X-Content-Type-Options": "nosniff"}


@router.get(
    "/sandboxes/{sandbox_id}/events/stream",
    summary="Follow a sandbox's events",
    tags=["sandboxes"],
    response_class=Response,
    responses=problems(401, 403, 404, 422, 503) | _EVENT_STREAM,
    dependencies=[Depends(_same_origin)],
)
async def follow_events(
    request: Request,
    sandbox: VisibleSandbox,
    _user: CurrentUser,
    token: BearerToken,
    since: Annotated[
        int | None,
        Query(ge=0, lt=2**63, description="Start after the event with this number; with the first event if left out."),
    ] = None,
    last_event_id: Annotated[
        int | None,
        Header(ge=0, lt=2**63, description="Sent by browsers when they reconnect; takes precedence over `since`."),
    ] = None,
) -> StreamingResponse:
    """Send every event, from the first one or after `since`, then each new event.

    The response ends when the sandbox has ended and its result is verified.
    """
    after = last_event_id if last_event_id is not None else since or 0
    state = request.app.state
    lines = _follow(state.hub, state.sessions, state.clock, sandbox.id, token=token, after=after)
    return StreamingResponse(lines, media_type="text/event-stream", headers=_HEADERS)


async def _follow(
    hub: Hub, sessions: Sessions, clock: Clock, sandbox_id: str, *, token: str, after: int
) -> AsyncIterator[str]:
    """Yield the events. No session is held while waiting, and the caller's access is checked on each read."""
    async with hub.watching(sandbox_id) as changed:
        while not hub.closing:
            changed.clear()
            try:
                async with sessions() as session:
                    identity = await known_user(session, token, sandbox_of=sandbox_of_token, now=clock.now())
                    sandbox = await visible_sandbox(sandbox_id, identity.user, session)
                    is_over = sandbox.status in ENDED and not await _is_being_verified(session, sandbox)
                    rows = await read_events(session, sandbox_id, after=after)
            except RequestError:
                return
            except (SQLAlchemyError, OSError):
                await asyncio.sleep(_RETRY_SECONDS)
                continue
            for row in rows:
                after = row.seq
                yield f"id: {row.seq}\ndata: {event_line(row)}\n\n"
            if rows:
                continue
            if is_over:
                return
            try:
                async with asyncio.timeout(KEEPALIVE_SECONDS):
                    await changed.wait()
            except TimeoutError:
                yield ": keep-alive\n\n"


async def _is_being_verified(session: AsyncSession, sandbox: Sandbox) -> bool:
    """Return whether the verdict on the sandbox's result is still to come."""
    if sandbox.task_id is None:
        return False
    task = await session.get_one(Task, sandbox.task_id)
    due = task.status == TaskState.VERIFYING or task.verification_requested_at is not None
    return task.sandbox_id == sandbox.id and due
