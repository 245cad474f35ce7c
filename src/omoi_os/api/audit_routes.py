"""The audit trail, for administrators."""

from typing import Annotated

from fastapi import Query

from omoi_os.accounts.deps import AdminUser
from omoi_os.audit import repository
from omoi_os.audit.models import AuditKind
from omoi_os.audit.schemas import AuditEntryOut, AuditPage
from omoi_os.http import paging
from omoi_os.http.choices import AnyCase
from omoi_os.http.deps import DbSession
from omoi_os.http.routers import make_router

router = make_router("/audit", tags=["audit"], refusals=(401, 403, 422, 503))


@router.get("", summary="List the audit trail")
async def list_audit_entries(
    _admin: AdminUser,
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
) -> AuditPage:
    """Return refused calls of sandboxes and changes to users, keys and sessions, newest first.

    Repeated actions of one sandbox within an hour are one entry with a count.
    """
    before = paging.before_id("audit", cursor)
    rows = await repository.list_entries(session, kind=kind, actor_id=actor_id, limit=limit + 1, before=before)
    found, next_cursor = paging.cut(rows, limit, lambda row: paging.encode("audit", row.id))
    return AuditPage(items=[AuditEntryOut.model_validate(row) for row in found], next_cursor=next_cursor)
