"""Sandboxes for their workers: each may put its own blobs and transcript; its events have routes of their own."""

from collections.abc import AsyncIterator
from contextlib import asynccontextmanager, nullcontext
from typing import Annotated

from fastapi import Query, Request, Response
from sqlalchemy.ext.asyncio import AsyncSession

from omoi_os.db.base import own_connection
from omoi_os.http.deps import AppMasker, AppSettings, DbSession, Now
from omoi_os.http.downloads import Download
from omoi_os.http.routers import make_router
from omoi_os.http.uploads import Uploads
from omoi_os.sandboxes.deps import CallingSandbox, SavingSandbox
from omoi_os.sandboxes.models import Sandbox
from omoi_os.sandboxes.outcomes import blobs, transcripts
from omoi_os.sandboxes.schemas import BlobStored, TranscriptStored
from omoi_os.system.off_loop import LARGE, off_loop

router = make_router(
    "/sandboxes/{sandbox_id}", tags=["workers"], refusals=(401, 403, 404, 409, 413, 415, 422, 429, 503)
)

_BYTES = {"requestBody": {"required": True, "content": {"application/octet-stream": {}}}}
_LINES = {"requestBody": {"required": True, "content": {"application/x-ndjson": {"schema": {"type": "string"}}}}}


@asynccontextmanager
async def _body(request: Request, session: AsyncSession, sandbox: Sandbox) -> AsyncIterator[bytes]:
    """The raw body. The transaction that let the caller in is over by then: a slow sender must hold none open."""
    await session.commit()
    uploads: Uploads = request.app.state.uploads
    async with (
        uploads.body(request, sandbox.id) as content,
        own_connection(session) if len(content) > LARGE else nullcontext(),
    ):
        yield content
        await session.commit()


@router.put("/blobs/{sha256}", summary="Keep a large value", openapi_extra=_BYTES)
async def put_blob(
    sandbox: SavingSandbox, sha256: str, request: Request, session: DbSession, masker: AppMasker, settings: AppSettings
) -> BlobStored:
    """Keep a value too large for an event, checked by its hash, before the event that names it."""
    async with _body(request, session, sandbox) as content:
        await off_loop(blobs.check, sha256, content)
        masked = await off_loop(blobs.masked, content, masker)
        await blobs.store(session, sandbox, sha256, masked, max_total=settings.sandbox_blobs_mb << 20)
        return BlobStored(sha256=sha256, size=len(content))


@router.put("/transcript", summary="Save the agent's conversation", openapi_extra=_LINES)
async def put_transcript(
    sandbox: SavingSandbox,
    request: Request,
    session: DbSession,
    masker: AppMasker,
    settings: AppSettings,
    now: Now,
    session_id: Annotated[str | None, Query(pattern=transcripts.SESSION_ID, description="Else the lines' own.")] = None,
    offset: Annotated[int, Query(ge=0, lt=2**63, description="Where these lines begin in the worker's file.")] = 0,
) -> TranscriptStored:
    """Save the conversation: whole lines, from the beginning or what came since the last time.

    What begins at 0 replaces what was there. Where a part is missing, 409 says so, and everything is sent again.
    """
    async with _body(request, session, sandbox) as content:
        named = session_id or await off_loop(transcripts.session_of, content) or sandbox.id
        part = await off_loop(transcripts.pack, content, masker, start=offset)
        limit = settings.sandbox_transcript_mb << 20
        kept = await transcripts.store(session, sandbox, part, session_id=named, now=now, max_total=limit)
        return TranscriptStored(session_id=named, size_bytes=kept)


@router.get(
    "/session",
    summary="Fetch the conversation to go on with",
    response_class=Response,
    responses={
        200: {
            "description": "One JSON value a line.",
            "content": {"application/x-ndjson": {"schema": {"type": "string"}}},
        }
    },
)
async def get_session(sandbox: CallingSandbox, session: DbSession, request: Request) -> Response:
    """The conversation of this sandbox's task so far, for its worker; `X-Session-Id` names it."""
    session_id, parts = await transcripts.to_resume(session, sandbox)
    pieces = transcripts.pieces(request.app.state.sessions, parts)
    headers = {"X-Session-Id": session_id}
    slot = request.app.state.downloads.slot(sandbox.id)
    return Download(pieces, slot, media_type="application/x-ndjson", headers=headers)
