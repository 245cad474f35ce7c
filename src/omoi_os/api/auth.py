"""Who is calling: a user by an API key, or a sandbox by its own token. Only the `Authorization` header counts."""

from datetime import datetime
from typing import Annotated

from fastapi import Depends
from fastapi.security import HTTPAuthorizationCredentials, HTTPBearer
from sqlalchemy.ext.asyncio import AsyncSession

from omoi_os.accounts import repository as accounts
from omoi_os.accounts.models import ApiKey, User
from omoi_os.errors import BadToken
from omoi_os.ids import token_hash

SANDBOX_PREFIX = "sbx_"

_bearer = HTTPBearer(
    auto_error=False,
    scheme_name="token",
    description="A user's API key `omoi_…`, or inside a sandbox its own token `sbx_…`.",
)


async def bearer_token(credentials: Annotated[HTTPAuthorizationCredentials | None, Depends(_bearer)]) -> str:
    """The token that the request carries; `BadToken` when there is none."""
    if credentials is None or not credentials.credentials.strip():
        raise BadToken("send a token in the header: Authorization: Bearer …")
    return credentials.credentials.strip()


BearerToken = Annotated[str, Depends(bearer_token)]


async def identify_user(session: AsyncSession, token: str, *, now: datetime) -> tuple[User, ApiKey]:
    """The user that an API key belongs to; `BadToken` for an unknown, expired or revoked one."""
    found = await accounts.user_by_key_hash(session, token_hash(token))
    if found is None:
        raise BadToken("this token is not known")
    _, key = found
    if key.revoked_at is not None:
        raise BadToken("this API key was revoked; ask an administrator for another")
    if key.expires_at is not None and key.expires_at <= now:
        raise BadToken("this API key has expired; ask an administrator for another")
    return found
