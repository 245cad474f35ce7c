"""Which sandbox posts events: known by its token, remembered for a while, and checked again where they are stored."""

from collections import OrderedDict
from datetime import UTC, datetime

from omoi_os.accounts.auth import SANDBOX_PREFIX, identify_user
from omoi_os.audit.trail import Trail, foreign
from omoi_os.db.base import Sessions
from omoi_os.db.pipeline import Statement, in_session
from omoi_os.errors import BadToken, Forbidden
from omoi_os.ids import token_hash
from omoi_os.sandboxes import repository, service

MAX_REMEMBERED = 10_000

_OWNER = Statement(
    "omoi_owner",
    "SELECT id FROM sandboxes WHERE token_hash = $1 AND status IN ('creating', 'running', 'stopping')",
)


class Callers:
    """Remembers whose token is whose. That a token is still good is decided by the transaction that stores events."""

    def __init__(self, sessions: Sessions, trail: Trail) -> None:
        self._sessions, self._trail = sessions, trail
        self._known: OrderedDict[str, str] = OrderedDict()

    async def identify(self, authorization: bytes, sandbox_id: str) -> str:
        """The hash of the token in this header, which is this sandbox's own.

        `BadToken` if it is not known, `StaleFence` for an ended sandbox's, `NotFound` for another's path, `Forbidden`
        for a user's key.
        """
        scheme, _, token = authorization.decode("latin-1").partition(" ")
        token = token.strip()
        if scheme.lower() != "bearer" or not token:
            raise BadToken("send a token in the header: Authorization: Bearer …")
        hashed = token_hash(token)
        owner = self._known.get(hashed) or await self._look_up(token, hashed)
        if owner != sandbox_id:
            await self._trail.record(foreign(owner, sandbox_id, f"events for {sandbox_id}"))
            raise repository.missing(sandbox_id)
        return hashed

    def forget(self, hashed: str) -> None:
        """The token was found to be good no more."""
        self._known.pop(hashed, None)

    async def _look_up(self, token: str, hashed: str) -> str:
        async with self._sessions() as session:
            if not token.startswith(SANDBOX_PREFIX):
                await identify_user(session, token, now=datetime.now(UTC))
                raise Forbidden("only the worker inside the sandbox can do this, with its own token")
            async with in_session(session, reading=True) as pipeline:
                pipeline.send(_OWNER, hashed)
                (rows,) = await pipeline.answers(last=True)
            # Why it opens nothing matters only where it does not.
            sandbox_id = str(rows[0][0]) if rows else (await service.identify(session, token)).id
        self._known[hashed] = sandbox_id
        if len(self._known) > MAX_REMEMBERED:
            self._known.popitem(last=False)
        return sandbox_id
