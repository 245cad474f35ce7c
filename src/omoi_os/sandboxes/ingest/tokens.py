"""Tokens of sandboxes that post events: cached, and checked again by the transaction that stores the events."""

from collections import OrderedDict
from datetime import UTC, datetime

from omoi_os.accounts.auth import SANDBOX_PREFIX, identify_user
from omoi_os.audit.trail import Trail, foreign
from omoi_os.db.base import Sessions
from omoi_os.db.pipeline import Statement, in_session
from omoi_os.errors import BadToken, Forbidden
from omoi_os.ids import token_hash
from omoi_os.sandboxes import repository, service

MAX_TOKENS = 10_000

_SELECT_OWNER = Statement(
    "omoi_select_owner",
    "SELECT id FROM sandboxes WHERE token_hash = $1 AND status IN ('creating', 'running', 'stopping')",
)


class TokenCache:
    """Caches which sandbox a token belongs to. Whether it still does is decided by the transaction that stores."""

    def __init__(self, sessions: Sessions, trail: Trail) -> None:
        self._sessions, self._trail = sessions, trail
        self._owners: OrderedDict[str, str] = OrderedDict()

    async def identify(self, authorization: bytes, sandbox_id: str) -> str:
        """Return the hash of the token in this header, which belongs to this sandbox.

        Raises `BadToken` if the token is not known, `StaleFence` if its sandbox has ended, `NotFound` if it belongs to
        another sandbox, `Forbidden` if it is a user's key.
        """
        scheme, _, token = authorization.decode("latin-1").partition(" ")
        token = token.strip()
        if scheme.lower() != "bearer" or not token:
            raise BadToken("send a token in the header: Authorization: Bearer …")
        hashed = token_hash(token)
        owner = self._owners.get(hashed) or await self._look_up(token, hashed)
        if owner != sandbox_id:
            await self._trail.record(foreign(owner, sandbox_id, f"events for {sandbox_id}"))
            raise repository.missing(sandbox_id)
        return hashed

    def drop(self, hashed: str) -> None:
        """Forget a token that turned out to be invalid."""
        self._owners.pop(hashed, None)

    async def _look_up(self, token: str, hashed: str) -> str:
        async with self._sessions() as session:
            if not token.startswith(SANDBOX_PREFIX):
                await identify_user(session, token, now=datetime.now(UTC))
                raise Forbidden("only the worker inside the sandbox can do this, with its own token")
            async with in_session(session, reading=True) as pipeline:
                pipeline.send(_SELECT_OWNER, hashed)
                (rows,) = await pipeline.results(last=True)
            # `identify` finds out why a token is not valid, which takes longer.
            sandbox_id = str(rows[0][0]) if rows else (await service.identify(session, token)).id
        self._owners[hashed] = sandbox_id
        if len(self._owners) > MAX_TOKENS:
            self._owners.popitem(last=False)
        return sandbox_id
