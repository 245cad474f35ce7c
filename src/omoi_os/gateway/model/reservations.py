"""The reservations of this gateway's model calls: taken before a call is sent, renewed while it is under way."""

import asyncio
import logging
from uuid import UUID, uuid4

from sqlalchemy.exc import DBAPIError
from sqlalchemy.exc import TimeoutError as PoolTimeoutError

from omoi_os.db.base import Sessions
from omoi_os.errors import TooMany
from omoi_os.gateway.callers import Caller
from omoi_os.sandboxes.reservations import LIFETIME, Busy, Estimate, Refused, Reserved, renew, reserve, settle

log = logging.getLogger(__name__)

#: How long a call waits for others of its task to be settled.
MAX_WAIT_SECONDS = 600.0
#: Calls of the same task at another gateway are looked for this often.
_LOOK_SECONDS = 1.0
_RENEW_SECONDS = LIFETIME.total_seconds() / 3


class Reservations:
    """Takes reservations; calls that do not fit beside others wait for them."""

    def __init__(self, sessions: Sessions) -> None:
        self._sessions = sessions
        self._gateway_id = uuid4()
        self._held: set[UUID] = set()
        self._settled: asyncio.Event = asyncio.Event()

    async def take(self, caller: Caller, estimate: Estimate) -> Reserved | Refused:
        """Reserve the cost of a call, waiting while other calls of its task leave it no room. Raises `TooMany`."""
        deadline = asyncio.get_running_loop().time() + MAX_WAIT_SECONDS
        while asyncio.get_running_loop().time() < deadline:
            settled = self._settled
            outcome = await self._try_whole(caller.sandbox_id, estimate)
            if not isinstance(outcome, Busy):
                return outcome
            try:
                await asyncio.wait_for(settled.wait(), _LOOK_SECONDS)
            except TimeoutError:
                continue
        raise TooMany("Other model calls of this task hold the rest of its budget: try again when they have ended.")

    def release(self, reservation_id: UUID) -> None:
        """Note that a call is settled; calls that wait look again."""
        self._held.discard(reservation_id)
        self._settled.set()
        self._settled = asyncio.Event()

    async def keep(self) -> None:
        """Renew what is under way, until cancelled."""
        while True:
            await asyncio.sleep(_RENEW_SECONDS)
            try:
                async with self._sessions.begin() as session:
                    await renew(session, self._held)
            except (DBAPIError, PoolTimeoutError) as error:
                log.warning("reservations of model calls are not renewed yet: %s", error)

    async def _try_whole(self, sandbox_id: str, estimate: Estimate) -> Reserved | Refused | Busy:
        """Try once. A caller that hangs up in the middle leaves no reservation behind."""
        trying = asyncio.create_task(self._try(sandbox_id, estimate))
        try:
            return await asyncio.shield(trying)
        except asyncio.CancelledError:
            outcome = await trying
            if isinstance(outcome, Reserved):
                async with self._sessions.begin() as session:
                    await settle(session, outcome.reservation_id)
                self.release(outcome.reservation_id)
            raise

    async def _try(self, sandbox_id: str, estimate: Estimate) -> Reserved | Refused | Busy:
        async with self._sessions.begin() as session:
            outcome = await reserve(session, sandbox_id, estimate, gateway_id=self._gateway_id)
        if isinstance(outcome, Reserved):
            self._held.add(outcome.reservation_id)
        return outcome
