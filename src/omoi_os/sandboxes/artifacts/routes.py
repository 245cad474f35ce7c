"""What a sandbox produced, for people: events, trajectory, log, diffs and transcript."""

from collections.abc import AsyncIterator, Callable, Coroutine, Mapping, Sequence
from dataclasses import dataclass
from types import MappingProxyType
from typing import Annotated, Any, Literal, TypeVar

from fastapi import Depends, Path, Query, Request, Response

from omoi_os.accounts.deps import CurrentUser
from omoi_os.accounts.models import User
from omoi_os.db.base import Sessions
from omoi_os.errors import NotFound
from omoi_os.http import paging
from omoi_os.http.choices import AnyCase
from omoi_os.http.deps import DbSession
from omoi_os.http.downloads import Download, Downloads
from omoi_os.http.routers import make_router
from omoi_os.protocol.events import EventType
from omoi_os.sandboxes import repository
from omoi_os.sandboxes.artifacts import blobs, diffs, logs, transcripts
from omoi_os.sandboxes.deps import VisibleSandbox
from omoi_os.sandboxes.models import SandboxEvent
from omoi_os.sandboxes.schemas import EventOut, EventPage, EventTypeName, HeartbeatSummary, Trajectory

MAX_EVENTS = 500
MAX_LOG_EVENTS = 100_000
#: Media types of the downloads.
TEXT, DIFF, BYTES, JSON_LINES = "text/plain", "text/x-diff", "application/octet-stream", "application/x-ndjson"
#: Browsers must not guess that text written by agents is a page.
_RAW = {"X-Content-Type-Options": "nosniff"}

router = make_router("/sandboxes/{sandbox_id}", tags=["sandboxes"], refusals=(401, 403, 404, 422, 429, 503))

#: A route that returns a download.
Route = TypeVar("Route", bound=Callable[..., Coroutine[Any, Any, Response]])

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
        description="Start after the event with this number: newer ones with `asc`, older ones with `desc`.",
    ),
]


@dataclass(frozen=True, slots=True)
class _Downloader:
    """Sends a value piece by piece to the user who asked for it."""

    sessions: Sessions
    downloads: Downloads
    user: User

    def send(
        self, pieces: AsyncIterator[bytes | str], media_type: str, headers: Mapping[str, str] = MappingProxyType({})
    ) -> Download:
        """Return the response. Raises `TooMany` if the user has too many downloads open."""
        slot = self.downloads.slot(str(self.user.id))
        return Download(pieces, slot, media_type=media_type, headers={**_RAW, **headers})


async def _downloader(request: Request, user: CurrentUser) -> _Downloader:
    return _Downloader(request.app.state.sessions, request.app.state.downloads, user)


Downloader = Annotated[_Downloader, Depends(_downloader)]


def _download_route(path: str, summary: str, media_type: str, description: str) -> Callable[[Route], Route]:
    """Return the decorator of a route whose response is text or bytes of this type."""
    content = {media_type: {"schema": {"type": "string"}}}
    responses: dict[int | str, dict[str, Any]] = {200: {"description": description, "content": content}}
    return router.get(path, summary=summary, response_class=Response, responses=responses)


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


@_download_route("/logs", "Read a sandbox's log", TEXT, "One event after the other; continuation lines are indented.")
async def get_logs(
    sandbox: VisibleSandbox,
    downloader: Downloader,
    tail: Annotated[int, Query(ge=1, le=MAX_LOG_EVENTS, description="How many of the newest events to return.")] = 1000,
) -> Response:
    """Return the newest events as text. Terminal control characters are escaped."""
    after = max(0, sandbox.last_seq - tail)
    return downloader.send(logs.lines(downloader.sessions, sandbox.id, after=after, until=sandbox.last_seq), TEXT)


@_download_route("/diff", "Show all changes of a sandbox", DIFF, "A unified diff.")
async def get_session_diff(sandbox: VisibleSandbox, session: DbSession, downloader: Downloader) -> Response:
    """Return the diff of the whole session; while it is running, the edits so far, one after the other."""
    whole = await diffs.whole_session(session, sandbox)
    if whole is None:
        return downloader.send(diffs.edits(downloader.sessions, sandbox), DIFF)
    return downloader.send(whole.pieces(downloader.sessions, sandbox.id), DIFF)


@_download_route("/events/{event_id}/diff", "Show the full diff of a file edit", DIFF, "A unified diff.")
async def get_diff(
    sandbox: VisibleSandbox,
    event_id: Annotated[str, Path(description="Id of an `agent.file_edited` event.")],
    session: DbSession,
    downloader: Downloader,
) -> Response:
    """Return the complete unified diff of an `agent.file_edited` event, of any size."""
    found = await diffs.of_edit(session, sandbox, event_id)
    return downloader.send(found.pieces(downloader.sessions, sandbox.id), DIFF)


@_download_route("/blobs/{sha256}", "Fetch a large value", BYTES, "The value that an event's `…_blob` field names.")
async def get_blob(
    sandbox: VisibleSandbox,
    sha256: Annotated[str, Path(description="SHA-256 of the value, from a field of an event that ends in `_blob`.")],
    session: DbSession,
    downloader: Downloader,
) -> Response:
    """Return a value that was too large for its event."""
    size = await blobs.size_of(session, sandbox.id, sha256)
    if size is None:
        raise NotFound(f"sandbox {sandbox.id} has no blob {sha256[:64]!r}")
    pieces = blobs.pieces(downloader.sessions, sandbox.id, sha256, size)
    return downloader.send(pieces, BYTES, {"Content-Length": str(size)})


@_download_route("/transcript", "Download the agent's transcript", JSON_LINES, "One JSON value per line.")
async def get_transcript(sandbox: VisibleSandbox, session: DbSession, downloader: Downloader) -> Response:
    """Return the conversation as the agent's SDK writes it; it is saved after every turn."""
    pieces = transcripts.pieces(downloader.sessions, await transcripts.get(session, sandbox))
    named = {"Content-Disposition": f'attachment; filename="{sandbox.id}.jsonl"'}
    return downloader.send(pieces, JSON_LINES, named)
