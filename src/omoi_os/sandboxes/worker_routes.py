"""Blobs and transcripts, which workers upload for their own sandbox."""

from collections.abc import AsyncIterator
from contextlib import asynccontextmanager, nullcontext
from typing import Annotated

from fastapi import Path, Query, Request, Response
from sqlalchemy.ext.asyncio import AsyncSession

from omoi_os.db.base import own_connection
from omoi_os.http.deps import AppMasker, AppSettings, DbSession, Now
from omoi_os.http.downloads import Download
from omoi_os.http.routers import make_router
from omoi_os.http.uploads import Uploads
from omoi_os.sandboxes.artifacts import blobs, transcripts
from omoi_os.sandboxes.deps import CallingSandbox, SavingSandbox
from omoi_os.sandboxes.models import Sandbox
from omoi_os.sandboxes.schemas import BlobStored, TranscriptStored
from omoi_os.system.off_loop import LARGE, off_loop

router = make_router(
    "/sandboxes/{sandbox_id}", tags=["workers"], refusals=(401, 403, 404, 409, 413, 415, 422, 429, 503)
)

_BYTES = {
    "requestBody": {
        "required": True,
        "description": "The value as raw bytes.",
        "content": {
            "application/octet-stream": {
                "schema": {"type": "string", "contentMediaType": "application/octet-stream"},
                "example": "…the whole output of a command…",
            }
        },
    }
}
_LINES = {
    "requestBody": {
        "required": True,
        "description": "Lines of the transcript, one JSON value each.",
        "content": {
            "application/x-ndjson": {
                "schema": {"type": "string"},
                "example": '{"type": "user", "sessionId": "3f0d2b6c", "message": {"role": "user", "content": "Hi"}}',
            }
        },
    }
}


@asynccontextmanager
async def _body(request: Request, session: AsyncSession, sandbox: Sandbox) -> AsyncIterator[bytes]:
    """Yield the raw body. The transaction ends first, so that a slow upload does not hold one open."""
    await session.commit()
    uploads: Uploads = request.app.state.uploads
    async with (
        uploads.body(request, sandbox.id) as content,
        own_connection(session) if len(content) > LARGE else nullcontext(),
    ):
        yield content
        await session.commit()


@router.put("/blobs/{sha256}", summary="Store a large value", openapi_extra=_BYTES)
async def put_blob(
    sandbox: SavingSandbox,
    sha256: Annotated[str, Path(description="SHA-256 of the body, as 64 lower-case hexadecimal digits.")],
    request: Request,
    session: DbSession,
    masker: AppMasker,
    settings: AppSettings,
) -> BlobStored:
    """Store a value that is too large for an event, before the event that names it is posted."""
    async with _body(request, session, sandbox) as content:
        await off_loop(blobs.check, sha256, content)
        masked = await off_loop(blobs.masked, content, masker)
        await blobs.store(session, sandbox, sha256, masked, max_total=settings.sandbox_blobs_mb << 20)
        return BlobStored(sha256=sha256, size=len(content))


@router.put("/transcript", summary="Save the agent's transcript", openapi_extra=_LINES)
async def put_transcript(
    sandbox: SavingSandbox,
    request: Request,
    session: DbSession,
    masker: AppMasker,
    settings: AppSettings,
    now: Now,
    session_id: Annotated[
        str | None,
        Query(
            pattern=transcripts.SESSION_ID,
            description="The agent's session; read from the first line if it is left out.",
        ),
    ] = None,
    offset: Annotated[
        int, Query(ge=0, lt=2**63, description="Offset of these lines in the worker's transcript file, in bytes.")
    ] = 0,
) -> TranscriptStored:
    """Save whole lines of the transcript: all of them, or those added since the last call.

    With `offset` 0 the lines replace the stored transcript. Answers 409 if a part is missing; then send everything.
    """
    async with _body(request, session, sandbox) as content:
        named = session_id or await off_loop(transcripts.session_of, content) or sandbox.id
        part = await off_loop(transcripts.pack, content, masker, start=offset)
        limit = settings.sandbox_transcript_mb << 20
        kept = await transcripts.store(session, sandbox, part, session_id=named, now=now, max_total=limit)
        return TranscriptStored(session_id=named, size_bytes=kept)


@router.get(
    "/session",
    summary="Fetch the conversation to resume",
    response_class=Response,
    responses={
        200: {
            "description": "One JSON value per line.",
            "content": {"application/x-ndjson": {"schema": {"type": "string"}}},
        }
    },
)
async def get_session(sandbox: CallingSandbox, session: DbSession, request: Request) -> Response:
    """Return the task's conversation so far, for the worker to resume; the header `X-Session-Id` names the session."""
    session_id, parts = await transcripts.to_resume(session, sandbox)
    pieces = transcripts.pieces(request.app.state.sessions, parts)
    headers = {"X-Session-Id": session_id}
    slot = request.app.state.downloads.slot(sandbox.id)
    return Download(pieces, slot, media_type="application/x-ndjson", headers=headers)
