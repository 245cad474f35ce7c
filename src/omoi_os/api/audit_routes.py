"""The audit trail, for administrators."""

from typing import Annotated, Any

from fastapi import Query, Request, Response

from omoi_os.accounts.deps import AdminUser
from omoi_os.accounts.models import User
from omoi_os.audit import export, repository
from omoi_os.audit.export import MEDIA_TYPES, ExportFormat
from omoi_os.audit.models import AuditKind
from omoi_os.audit.schemas import AuditEntryOut, AuditPage
from omoi_os.http import paging
from omoi_os.http.choices import AnyCase
from omoi_os.http.deps import DbSession
from omoi_os.http.downloads import Download, Downloads
from omoi_os.http.problems import problems
from omoi_os.http.routers import make_router

router = make_router("/audit", tags=["audit"], refusals=(401, 403, 422, 503))

_FILES: dict[int | str, dict[str, Any]] = {
    200: {
        "description": "A page of entries, or all of them as a file.",
        "content": {media_type: {"schema": {"type": "string"}} for media_type in MEDIA_TYPES.values()},
    }
}


@router.get("", summary="List or export the audit trail", response_model=AuditPage, responses=problems(429) | _FILES)
async def list_audit_entries(
    admin: AdminUser,
    request: Request,
    session: DbSession,
    kind: Annotated[AnyCase[AuditKind] | None, Query(description="Return only entries of this kind.")] = None,
    actor_id: Annotated[
        str | None,
        Query(
            max_length=200,
            pattern=r"^[^\x00]*$",
            description="Return only entries of this actor: a sandbox's id or a user's e-mail address.",
        ),
    ] = None,
    limit: paging.Limit = 50,
    cursor: paging.Cursor = None,
    file_format: Annotated[
        AnyCase[ExportFormat] | None,
        Query(
            alias="format",
            description="Download all matching entries as `csv` or `jsonl` instead of a page; `limit` and `cursor` are "
            "ignored.",
        ),
    ] = None,
) -> AuditPage | Response:
    """Return refused calls of sandboxes and changes to users, keys, sessions and members, newest first.

    Repeated actions of one sandbox within an hour are one entry with a count.
    """
    if file_format is not None:
        return _download(request, admin, file_format, kind=kind, actor_id=actor_id)
    before = paging.before_id("audit", cursor)
    rows = await repository.list_entries(session, kind=kind, actor_id=actor_id, limit=limit + 1, before=before)
    found, next_cursor = paging.cut(rows, limit, lambda row: paging.encode("audit", row.id))
    return AuditPage(items=[AuditEntryOut.model_validate(row) for row in found], next_cursor=next_cursor)


def _download(
    request: Request, admin: User, wanted: ExportFormat, *, kind: str | None, actor_id: str | None
) -> Download:
    downloads: Downloads = request.app.state.downloads
    lines = export.lines(request.app.state.sessions, wanted, kind=kind, actor_id=actor_id)
    headers = {
        "Content-Disposition": f'attachment; filename="audit.{wanted}"',
        "X-Content-Type-Options": "nosniff",
        "Cache-Control": "no-store",
    }
    return Download(lines, downloads.slot(str(admin.id)), media_type=MEDIA_TYPES[wanted], headers=headers)
