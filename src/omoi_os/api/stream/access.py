"""Whether those who listen may still do so."""

from collections.abc import Sequence

from sqlalchemy import func, select
from sqlalchemy.ext.asyncio import AsyncConnection

from omoi_os.accounts.models import ApiKey, BrowserSession, User
from omoi_os.projects.repository import owner_seen_by
from omoi_os.stream.client import NO_LONGER_ALLOWED, Listener


async def recheck(connection: AsyncConnection, listeners: Sequence[Listener]) -> None:
    """Hang up on those whose key or session is no longer valid, and follow changes of what people may see."""
    asked = {listener.viewer.credential_id for listener in listeners}
    keys = select(ApiKey.id, User.id, User.role).join(User, User.id == ApiKey.user_id)
    keys = keys.where(ApiKey.id.in_(asked), ApiKey.revoked_at.is_(None), User.deactivated_at.is_(None))
    keys = keys.where(ApiKey.expires_at.is_(None) | (ApiKey.expires_at > func.now()))
    browsers = select(BrowserSession.id, User.id, User.role).join(User, User.id == BrowserSession.user_id)
    browsers = browsers.where(
        BrowserSession.id.in_(asked), BrowserSession.revoked_at.is_(None), User.deactivated_at.is_(None)
    )
    browsers = browsers.where(BrowserSession.expires_at > func.now())
    found = {row[0]: row for row in await connection.execute(keys.union_all(browsers))}
    for listener in listeners:
        row = found.get(listener.viewer.credential_id)
        if row is None:
            listener.socket.hang_up(NO_LONGER_ALLOWED, "this API key or session is no longer valid")
        else:
            listener.viewer.owner = owner_seen_by(row[1], row[2])
