"""Users and their API keys, for administrators."""

from uuid import UUID

from omoi_os.accounts import repository, service
from omoi_os.accounts.schemas import ApiKeyIn, ApiKeyOut, ApiKeyPage, NewApiKeyOut, UserIn, UserOut, UserPage
from omoi_os.api import paging
from omoi_os.api.deps import AdminUser, DbSession, Now
from omoi_os.api.errors import problems
from omoi_os.api.idempotency import OnlyOnce
from omoi_os.api.routers import make_router

router = make_router("/users", tags=["users"], refusals=(401, 403, 413, 422, 503))


@router.post("", status_code=201, summary="Add a user", responses=problems(409))
async def create_user(_admin: AdminUser, body: UserIn, once: OnlyOnce, session: DbSession, now: Now) -> UserOut:
    """Add a person or a program. They see only the projects they create, unless they are an administrator."""
    user = await service.create_user(session, email=body.email, name=body.name, role=body.role, now=now)
    return once.answer(UserOut.model_validate(user))


@router.get("", summary="List users")
async def list_users(
    _admin: AdminUser, session: DbSession, limit: paging.Limit = 50, cursor: paging.Cursor = None
) -> UserPage:
    """Every user, newest first."""
    rows = await repository.list_users(session, limit=limit + 1, before=paging.before_id("users", cursor))
    users, next_cursor = paging.cut(rows, limit, lambda user: paging.encode("users", user.id))
    return UserPage(items=[UserOut.model_validate(user) for user in users], next_cursor=next_cursor)


@router.post("/{user_id}/api-keys", status_code=201, summary="Make an API key", responses=problems(404, 409))
async def create_api_key(
    _admin: AdminUser, user_id: UUID, body: ApiKeyIn, _once: OnlyOnce, session: DbSession, now: Now
) -> NewApiKeyOut:
    """Make a key for a user. It is shown in this answer and never again.

    Only its hash is kept, so a repeated `Idempotency-Key` makes no second key and answers 409.
    """
    user = await service.get_user(session, user_id)
    key, token = await service.create_key(
        session, user, name=body.name, scope=body.scope, expires_at=body.expires_at, now=now
    )
    return NewApiKeyOut(**ApiKeyOut.model_validate(key).model_dump(), key=token)


@router.get("/{user_id}/api-keys", summary="List a user's API keys", responses=problems(404))
async def list_api_keys(
    _admin: AdminUser, user_id: UUID, session: DbSession, limit: paging.Limit = 50, cursor: paging.Cursor = None
) -> ApiKeyPage:
    """A user's keys by name and last four characters, newest first."""
    await service.get_user(session, user_id)
    before = paging.before_id("api-keys", cursor)
    rows = await repository.list_keys(session, user_id, limit=limit + 1, before=before)
    keys, next_cursor = paging.cut(rows, limit, lambda key: paging.encode("api-keys", key.id))
    return ApiKeyPage(items=[ApiKeyOut.model_validate(key) for key in keys], next_cursor=next_cursor)
