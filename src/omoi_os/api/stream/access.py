"""Rechecks the access of connected clients."""

from collections.abc import Sequence

from sqlalchemy import func, select
from sqlalchemy.ext.asyncio import AsyncConnection

from omoi_os.accounts.models import ApiKey, BrowserSession, User
from omoi_os.stream.client import NO_LONGER_ALLOWED, Client
from omoi_os.visibility import restricted_to


async def recheck(connection: AsyncConnection, clients: Sequence[Client]) -> None:
    """Drop the clients whose key or session is no longer valid, and update what the others may see."""
    asked = {client.viewer.credential_id for client in clients}
    keys = select(ApiKey.id, User.id, User.role).join(User, User.id == ApiKey.user_id)
    keys = keys.where(ApiKey.id.in_(asked), ApiKey.revoked_at.is_(None), User.deactivated_at.is_(None))
    keys = keys.where(ApiKey.expires_at.is_(None) | (ApiKey.expires_at > func.now()))
    browsers = select(BrowserSession.id, User.id, User.role).join(User, User.id == BrowserSession.user_id)
    browsers = browsers.where(
        BrowserSession.id.in_(asked), BrowserSession.revoked_at.is_(None), User.deactivated_at.is_(None)
    )
    browsers = browsers.where(BrowserSession.expires_at > func.now())
    found = {row[0]: row for row in await connection.execute(keys.union_all(browsers))}
    for client in clients:
        row = found.get(client.viewer.credential_id)
        if row is None:
            client.socket.hang_up(NO_LONGER_ALLOWED, "this API key or session is no longer valid")
        else:
            client.viewer.restricted_to = restricted_to(row[1], row[2])
