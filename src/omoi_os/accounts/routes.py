"""Users and their API keys, for administrators."""

from fastapi import Request, Response

from omoi_os.accounts import repository, service, sessions
from omoi_os.accounts.deps import AdminUser, KeyId, UserId
from omoi_os.accounts.idempotency import OnlyOnce
from omoi_os.accounts.records import record_key
from omoi_os.accounts.schemas import (
    ApiKeyIn,
    ApiKeyOut,
    ApiKeyPage,
    NewApiKeyOut,
    SignInLinkOut,
    UserIn,
    UserOut,
    UserPage,
    UserPatch,
)
from omoi_os.accounts.service import UserChanges
from omoi_os.accounts.session_routes import own_url
from omoi_os.audit.models import AuditKind
from omoi_os.audit.trail import record_action
from omoi_os.errors import Conflict
from omoi_os.http import paging
from omoi_os.http.deps import AppBus, AppSettings, DbSession, Now
from omoi_os.http.problems import problems
from omoi_os.http.routers import make_router

router = make_router("/users", tags=["users"], refusals=(401, 403, 413, 422, 503))


@router.post("", status_code=201, summary="Add a user", responses=problems(409))
async def create_user(admin: AdminUser, body: UserIn, once: OnlyOnce, session: DbSession, now: Now) -> UserOut:
    """Add a person or a program. Members see only the projects they belong to."""
    user = await service.create_user(session, email=body.email, name=body.name, role=body.role, now=now)
    await record_action(session, admin.email, AuditKind.USER_ADDED, subject=user.email, detail=f"role {user.role}")
    return once.answer(UserOut.model_validate(user))


@router.get("", summary="List users")
async def list_users(
    _admin: AdminUser, session: DbSession, limit: paging.Limit = 50, cursor: paging.Cursor = None
) -> UserPage:
    """Return all users, newest first."""
    rows = await repository.list_users(session, limit=limit + 1, before=paging.before_id("users", cursor))
    users, next_cursor = paging.cut(rows, limit, lambda user: paging.encode("users", user.id))
    return UserPage(items=[UserOut.model_validate(user) for user in users], next_cursor=next_cursor)


@router.patch("/{user_id}", summary="Change a user", responses=problems(404, 409))
async def update_user(
    admin: AdminUser, user_id: UserId, body: UserPatch, session: DbSession, bus: AppBus, now: Now
) -> UserOut:
    """Change a user's name or role, deactivate or reactivate them.

    Answers 409 if no active administrator would be left.
    """
    user = await service.get_user(session, user_id)
    changes = UserChanges(**body.model_dump(exclude_unset=True))
    user = await service.change_user(session, bus, user, changes, now=now)
    kind = AuditKind.USER_DEACTIVATED if user.deactivated_at is not None else AuditKind.USER_CHANGED
    await record_action(session, admin.email, kind, subject=user.email, detail=f"name {user.name}, role {user.role}")
    return UserOut.model_validate(user)


@router.delete("/{user_id}", status_code=204, summary="Deactivate a user", responses=problems(404, 409))
async def delete_user(admin: AdminUser, user_id: UserId, session: DbSession, bus: AppBus, now: Now) -> None:
    """Deactivate a user. Their keys, sessions and streams end at once; what they created stays."""
    user = await service.get_user(session, user_id)
    await service.change_user(session, bus, user, UserChanges(active=False), now=now)
    await record_action(session, admin.email, AuditKind.USER_DEACTIVATED, subject=user.email, detail="deactivated")


@router.post(
    "/{user_id}/sign-in-link", status_code=201, summary="Create a sign-in link for a user", responses=problems(404, 409)
)
async def create_sign_in_link(
    admin: AdminUser,
    user_id: UserId,
    request: Request,
    response: Response,
    session: DbSession,
    settings: AppSettings,
    now: Now,
) -> SignInLinkOut:
    """Create a link that signs one browser in as this user, once, within 24 hours: an invitation.

    Send it to nobody but the user. Answers 409 if the user is deactivated.
    """
    user = await service.get_user(session, user_id)
    if user.deactivated_at is not None:
        raise Conflict(f"{user.email} is deactivated; reactivate them first")
    url = await sessions.make_link(session, user, base_url=own_url(request, settings), now=now)
    expires_at = now + sessions.LINK_LIFE
    detail = f"valid until {expires_at:%Y-%m-%d %H:%M} UTC"
    await record_action(session, admin.email, AuditKind.SIGN_IN_LINK_CREATED, subject=user.email, detail=detail)
    response.headers["Cache-Control"] = "no-store"
    return SignInLinkOut(url=url, expires_at=expires_at)


@router.delete(
    "/{user_id}/api-keys/{key_id}", status_code=204, summary="Revoke a user's API key", responses=problems(404)
)
async def delete_api_key(
    admin: AdminUser, user_id: UserId, key_id: KeyId, session: DbSession, bus: AppBus, now: Now
) -> None:
    """Revoke a key and the sessions it opened, at once. Can be repeated."""
    user = await service.get_user(session, user_id)
    key = await service.revoke_key(session, bus, user_id, key_id, now=now)
    await record_key(session, admin, AuditKind.KEY_REVOKED, key, of=user)


@router.post("/{user_id}/api-keys", status_code=201, summary="Create a user's API key", responses=problems(404, 409))
async def create_api_key(
    admin: AdminUser, user_id: UserId, body: ApiKeyIn, _once: OnlyOnce, session: DbSession, now: Now
) -> NewApiKeyOut:
    """Create a key for a user. Only this response contains the key itself.

    The server stores only a hash, so a repeated `Idempotency-Key` creates no second key and answers 409.
    """
    user = await service.get_user(session, user_id)
    scope = body.scope or service.usual_scope(user)
    key, token = await service.create_key(
        session, user, name=body.name, scope=scope, expires_at=body.expires_at, now=now
    )
    await record_key(session, admin, AuditKind.KEY_CREATED, key, of=user)
    return NewApiKeyOut(**ApiKeyOut.model_validate(key).model_dump(), key=token)


@router.get("/{user_id}/api-keys", summary="List a user's API keys", responses=problems(404))
async def list_api_keys(
    _admin: AdminUser, user_id: UserId, session: DbSession, limit: paging.Limit = 50, cursor: paging.Cursor = None
) -> ApiKeyPage:
    """Return a user's keys with their last four characters, newest first. Revoked keys are included."""
    await service.get_user(session, user_id)
    before = paging.before_id("api-keys", cursor)
    rows = await repository.list_keys(session, user_id, limit=limit + 1, before=before)
    keys, next_cursor = paging.cut(rows, limit, lambda key: paging.encode("api-keys", key.id))
    return ApiKeyPage(items=[ApiKeyOut.model_validate(key) for key in keys], next_cursor=next_cursor)
