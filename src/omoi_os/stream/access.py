"""Whether those who listen may still do so."""

from collections.abc import Mapping, Sequence

from sqlalchemy import func, select
from sqlalchemy.ext.asyncio import AsyncConnection

from omoi_os.accounts.models import ApiKey, User
from omoi_os.errors import Forbidden
from omoi_os.projects.repository import owner_seen_by
from omoi_os.stream.listener import NO_LONGER_ALLOWED, Listener


async def recheck(connection: AsyncConnection, listeners: Sequence[Listener]) -> None:
    """Hang up on those whose key was revoked or has expired, and follow changes of what people may see."""
    keys = {listener.viewer.key_id for listener in listeners}
    valid = (ApiKey.revoked_at.is_(None)) & (ApiKey.expires_at.is_(None) | (ApiKey.expires_at > func.now()))
    query = select(ApiKey.id, User.id, User.role).join(User, User.id == ApiKey.user_id)
    found = {row[0]: row for row in await connection.execute(query.where(ApiKey.id.in_(keys), valid))}
    for listener in listeners:
        row = found.get(listener.viewer.key_id)
        if row is None:
            listener.socket.hang_up(NO_LONGER_ALLOWED, "this API key is no longer valid")
        else:
            listener.viewer.owner = owner_seen_by(row[1], row[2])


def check_origin(headers: Mapping[str, str]) -> None:
    """`Forbidden` for a page of another site: a browser names it, and would send our cookie along."""
    origin = headers.get("origin")
    if origin is None:
        return
    scheme, _, host = origin.partition("://")
    port = {"http": ":80", "https": ":443"}.get(scheme, "")
    if host.lower().removesuffix(port) != headers.get("host", "").lower().removesuffix(port) or not host:
        raise Forbidden("this page belongs to another site; open the stream from this server's own page")
