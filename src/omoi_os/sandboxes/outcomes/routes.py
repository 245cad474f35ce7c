"""What a sandbox produced, for people: events, trajectory, log, diffs and transcript."""

from collections.abc import AsyncIterator, Mapping, Sequence
from types import MappingProxyType
from typing import Annotated, Literal

from fastapi import Path, Query, Request, Response

from omoi_os.accounts.deps import CurrentUser
from omoi_os.accounts.models import User
from omoi_os.errors import NotFound
from omoi_os.http import paging
from omoi_os.http.choices import AnyCase
from omoi_os.http.deps import DbSession
from omoi_os.http.downloads import Download, Downloads
from omoi_os.http.routers import make_router
from omoi_os.protocol.events import EventType
from omoi_os.sandboxes import repository
from omoi_os.sandboxes.deps import VisibleSandbox
from omoi_os.sandboxes.models import SandboxEvent
from omoi_os.sandboxes.outcomes import blobs, diffs, logs, transcripts
from omoi_os.sandboxes.schemas import EventOut, EventPage, EventTypeName, HeartbeatSummary, Trajectory

MAX_EVENTS = 500
MAX_LOG_EVENTS = 100_000
#: Browsers must not guess that text written by agents is a page.
_RAW = {"X-Content-Type-Options": "nosniff"}

router = make_router("/sandboxes/{sandbox_id}", tags=["sandboxes"], refusals=(401, 403, 404, 422, 429, 503))

OfType = Annotated[
    EventTypeName | None, Query(description="Return only events of this type, such as `agent.tool_use`.")
]
Order = Annotated[
    AnyCase[Literal["asc", "desc"]], Query(description="`desc` lists the newest event first, `asc` the oldest.")
]
Limit = Annotated[
    int,
    Query(
        ge=1, le=MAX_EVENTS, description="Maximum number of events; fewer are returned if they exceed 4 MiB together."
    ),
]
Beyond = Annotated[
    int | None,
    Query(
        ge=0,
        lt=2**63,
        description="Start behind the event with this number: newer ones with `asc`, older ones with `desc`.",
    ),
]


def _text(media_type: str, description: str) -> dict[int | str, dict[str, object]]:
    return {200: {"description": description, "content": {media_type: {"schema": {"type": "string"}}}}}


def _page(rows: Sequence[SandboxEvent], kind: str, *, more: bool) -> tuple[list[EventOut], str | None]:
    """Return the items of a page and the cursor of the next one. Large events make a page shorter than its limit."""
    return [EventOut.model_validate(row) for row in rows], paging.encode(kind, rows[-1].seq) if more else None


def _count(counts: Mapping[str, int], event_type: str | None) -> int:
    return sum(counts.values()) if event_type is None else counts.get(event_type, 0)


@router.get("/events", summary="List a sandbox's events")
async def list_events(
    sandbox: VisibleSandbox,
    session: DbSession,
    event_type: OfType = None,
    order: Order = "desc",
    limit: Limit = 50,
    cursor: paging.Cursor = None,
    beyond: Beyond = None,
) -> EventPage:
    """Return the events of a sandbox, numbered from 1 without gaps."""
    kind = f"events-{order}"
    rows, more = await repository.page_of_events(
        session,
        sandbox.id,
        event_type=event_type,
        order=order,
        limit=limit,
        cursor_seq=paging.decode(kind, cursor, paging.number)[0] if cursor else beyond,
    )
    items, next_cursor = _page(rows, kind, more=more)
    total = _count(sandbox.event_counts, event_type)
    return EventPage(items=items, next_cursor=next_cursor, total_count=total, sandbox_id=sandbox.id)


@router.get("/trajectory", summary="List a sandbox's events without heartbeats")
async def get_trajectory(
    sandbox: VisibleSandbox,
    session: DbSession,
    event_type: OfType = None,
    order: Order = "desc",
    limit: Limit = 50,
    cursor: paging.Cursor = None,
) -> Trajectory:
    """Return the events of a sandbox without heartbeats, and a summary of the heartbeats."""
    kind = f"trajectory-{order}"
    rows, more = await repository.page_of_events(
        session,
        sandbox.id,
        event_type=event_type,
        without=EventType.AGENT_HEARTBEAT,
        order=order,
        limit=limit,
        cursor_seq=paging.decode(kind, cursor, paging.number)[0] if cursor else None,
    )
    items, next_cursor = _page(rows, kind, more=more)
    counts = dict(sandbox.event_counts)
    beats = counts.pop(EventType.AGENT_HEARTBEAT, 0)
    return Trajectory(
        items=items,
        next_cursor=next_cursor,
        total_count=_count(counts, event_type),
        sandbox_id=sandbox.id,
        heartbeat_summary=HeartbeatSummary(
            count=beats, first=sandbox.first_heartbeat_at, last=sandbox.last_heartbeat_at
        ),
    )


@router.get(
    "/logs",
    summary="Read a sandbox's log",
    response_class=Response,
    responses=_text("text/plain", "One event after the other; continuation lines are indented."),
)
async def get_logs(
    sandbox: VisibleSandbox,
    user: CurrentUser,
    request: Request,
    tail: Annotated[int, Query(ge=1, le=MAX_LOG_EVENTS, description="How many of the newest events to return.")] = 1000,
) -> Response:
    """Return the newest events as text. Terminal control characters are escaped."""
    lines = logs.lines(
        request.app.state.sessions, sandbox.id, after=max(0, sandbox.last_seq - tail), until=sandbox.last_seq
    )
    return _download(request, user, lines, media_type="text/plain")


@router.get(
    "/diff",
    summary="Show all changes of a sandbox",
    response_class=Response,
    responses=_text("text/x-diff", "A unified diff."),
)
async def get_session_diff(
    sandbox: VisibleSandbox, user: CurrentUser, session: DbSession, request: Request
) -> Response:
    """Return the diff of the whole session; while it is running, the edits so far, one after the other."""
    whole = await diffs.whole_session(session, sandbox)
    sessions = request.app.state.sessions
    pieces = diffs.edits(sessions, sandbox) if whole is None else whole.pieces(sessions, sandbox.id)
    return _download(request, user, pieces, media_type="text/x-diff")


@router.get(
    "/events/{event_id}/diff",
    summary="Show the full diff of a file edit",
    response_class=Response,
    responses=_text("text/x-diff", "A unified diff."),
)
async def get_diff(
    sandbox: VisibleSandbox,
    user: CurrentUser,
    event_id: Annotated[str, Path(description="Id of an `agent.file_edited` event.")],
    session: DbSession,
    request: Request,
) -> Response:
    """Return the complete unified diff of an `agent.file_edited` event, of any size."""
    found = await diffs.of_edit(session, sandbox, event_id)
    return _download(request, user, found.pieces(request.app.state.sessions, sandbox.id), media_type="text/x-diff")


@router.get(
    "/blobs/{sha256}",
    summary="Fetch a large value",
    response_class=Response,
    responses=_text("application/octet-stream", "The value that an event's `…_blob` field names."),
)
async def get_blob(
    sandbox: VisibleSandbox,
    user: CurrentUser,
    sha256: Annotated[str, Path(description="SHA-256 of the value, from a field of an event that ends in `_blob`.")],
    session: DbSession,
    request: Request,
) -> Response:
    """Return a value that was too large for its event."""
    size = await blobs.size_of(session, sandbox.id, sha256)
    if size is None:
        raise NotFound(f"sandbox {sandbox.id} has no blob {sha256[:64]!r}")
    pieces = blobs.pieces(request.app.state.sessions, sandbox.id, sha256, size)
    length = {"Content-Length": str(size)}
    return _download(request, user, pieces, media_type="application/octet-stream", headers=length)


@router.get(
    "/transcript",
    summary="Download the agent's transcript",
    response_class=Response,
    responses=_text("application/x-ndjson", "One JSON value per line."),
)
async def get_transcript(sandbox: VisibleSandbox, user: CurrentUser, session: DbSession, request: Request) -> Response:
    """Return the conversation as the agent's SDK writes it; it is saved after every turn."""
    pieces = transcripts.pieces(request.app.state.sessions, await transcripts.get(session, sandbox))
    named = {"Content-Disposition": f'attachment; filename="{sandbox.id}.jsonl"'}
    return _download(request, user, pieces, media_type="application/x-ndjson", headers=named)


def _download(
    request: Request,
    user: User,
    pieces: AsyncIterator[bytes | str],
    *,
    media_type: str,
    headers: Mapping[str, str] = MappingProxyType({}),
) -> Download:
    downloads: Downloads = request.app.state.downloads
    return Download(pieces, downloads.slot(str(user.id)), media_type=media_type, headers={**_RAW, **headers})
