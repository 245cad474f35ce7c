"""Your own API keys and sessions."""

from typing import Annotated
from uuid import UUID

from fastapi import Path

from omoi_os.accounts import repository, service
from omoi_os.accounts.deps import CurrentIdentity, CurrentUser, KeyId
from omoi_os.accounts.idempotency import OnlyOnce
from omoi_os.accounts.models import Scope
from omoi_os.accounts.records import record_key
from omoi_os.accounts.schemas import ApiKeyIn, ApiKeyOut, ApiKeyPage, NewApiKeyOut, SessionOut, SessionPage
from omoi_os.audit.models import AuditKind
from omoi_os.audit.trail import record_action
from omoi_os.errors import Forbidden
from omoi_os.http import paging
from omoi_os.http.deps import AppBus, DbSession, Now
from omoi_os.http.problems import problems
from omoi_os.http.routers import make_router

router = make_router("/auth", tags=["users"], refusals=(401, 403, 422, 503))

SessionId = Annotated[UUID, Path(description="Id of one of your sessions, as `GET /auth/sessions` lists it.")]

#: From the narrowest to the widest.
_SCOPES = [Scope.READ, Scope.WRITE, Scope.ADMIN]


@router.get("/api-keys", summary="List your API keys")
async def list_own_keys(
    user: CurrentUser, session: DbSession, limit: paging.Limit = 50, cursor: paging.Cursor = None
) -> ApiKeyPage:
    """Return your keys with their last four characters, newest first. Revoked keys are included."""
    before = paging.before_id("api-keys", cursor)
    rows = await repository.list_keys(session, user.id, limit=limit + 1, before=before)
    keys, next_cursor = paging.cut(rows, limit, lambda key: paging.encode("api-keys", key.id))
    return ApiKeyPage(items=[ApiKeyOut.model_validate(key) for key in keys], next_cursor=next_cursor)


@router.post("/api-keys", status_code=201, summary="Create an API key", responses=problems(409, 413))
async def create_own_key(
    identity: CurrentIdentity, body: ApiKeyIn, _once: OnlyOnce, session: DbSession, now: Now
) -> NewApiKeyOut:
    """Create a key for yourself. Only this response contains the key itself.

    A key that is created with another key has no wider scope and expires no later. The server stores only a hash, so a
    repeated `Idempotency-Key` creates no second key and answers 409.
    """
    scope = body.scope or service.usual_scope(identity.user)
    if _SCOPES.index(scope) > _SCOPES.index(identity.scope):
        raise Forbidden(f"a key with the scope {identity.scope} cannot create one with the scope {scope}")
    expires_at = body.expires_at
    if identity.via == "key" and identity.expires_at is not None:
        expires_at = min(expires_at or identity.expires_at, identity.expires_at)
    key, token = await service.create_key(
        session, identity.user, name=body.name, scope=scope, expires_at=expires_at, now=now
    )
    await record_key(session, identity.user, AuditKind.KEY_CREATED, key, of=identity.user)
    return NewApiKeyOut(**ApiKeyOut.model_validate(key).model_dump(), key=token)


@router.delete("/api-keys/{key_id}", status_code=204, summary="Revoke an API key", responses=problems(404))
async def delete_own_key(user: CurrentUser, key_id: KeyId, session: DbSession, bus: AppBus, now: Now) -> None:
    """Revoke one of your keys and the sessions it opened, at once. Can be repeated."""
    key = await service.revoke_key(session, bus, user.id, key_id, now=now)
    await record_key(session, user, AuditKind.KEY_REVOKED, key, of=user)


@router.get("/sessions", summary="List your sessions")
async def list_own_sessions(
    identity: CurrentIdentity, session: DbSession, now: Now, limit: paging.Limit = 50, cursor: paging.Cursor = None
) -> SessionPage:
    """Return the browsers in which you are signed in, newest first."""
    before = paging.before_id("sessions", cursor)
    rows = await repository.list_sessions(session, identity.user.id, now=now, limit=limit + 1, before=before)
    found, next_cursor = paging.cut(rows, limit, lambda row: paging.encode("sessions", row.id))
    items = [SessionOut.of(row, current=row.id == identity.id) for row in found]
    return SessionPage(items=items, next_cursor=next_cursor)


@router.delete("/sessions/{session_id}", status_code=204, summary="End a session", responses=problems(404))
async def delete_own_session(
    user: CurrentUser, session_id: SessionId, session: DbSession, bus: AppBus, now: Now
) -> None:
    """Sign one of your browsers out at once."""
    await service.end_session(session, bus, user.id, session_id, now=now)
    await record_action(
        session, user.email, AuditKind.SESSION_ENDED, subject=str(session_id), detail=f"of {user.email}"
    )
