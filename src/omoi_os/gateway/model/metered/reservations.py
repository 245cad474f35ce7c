"""The reservations of this process's model calls: made before a call is sent, renewed until it has ended."""

import asyncio
import logging
from uuid import UUID, uuid4

from sqlalchemy.exc import DBAPIError
from sqlalchemy.exc import TimeoutError as PoolTimeoutError

from omoi_os.db.base import Sessions
from omoi_os.errors import TooMany
from omoi_os.gateway.model.metered.payers import Payer
from omoi_os.sandboxes.reservations import LIFETIME, Busy, Estimate, Refused, Reserved, renew, settle

log = logging.getLogger(__name__)

#: How long a call waits for other calls of its payer to end.
MAX_WAIT_SECONDS = 600.0
#: How often to check for calls of the same payer that ended in another process.
_CHECK_SECONDS = 1.0
_RENEW_SECONDS = LIFETIME.total_seconds() / 3


class Reservations:
    """Makes reservations. A call that does not fit the budget beside other calls waits for them."""

    def __init__(self, sessions: Sessions) -> None:
        self._sessions = sessions
        self._gateway_id = uuid4()
        self._held: set[UUID] = set()
        self._settled: asyncio.Event = asyncio.Event()

    async def take(self, payer: Payer, estimate: Estimate) -> Reserved | Refused:
        """Reserve the cost of a call, waiting while other calls of its payer hold the budget. Raises `TooMany`."""
        deadline = asyncio.get_running_loop().time() + MAX_WAIT_SECONDS
        while asyncio.get_running_loop().time() < deadline:
            settled = self._settled
            outcome = await self._try_whole(payer, estimate)
            if not isinstance(outcome, Busy):
                return outcome
            try:
                await asyncio.wait_for(settled.wait(), _CHECK_SECONDS)
            except TimeoutError:
                continue
        raise TooMany(
            "Other model calls of this task have reserved the rest of its budget. Retry when they have ended."
        )

    def release(self, reservation_id: UUID) -> None:
        """Forget an ended reservation and wake the calls that wait."""
        self._held.discard(reservation_id)
        self._settled.set()
        self._settled = asyncio.Event()

    async def keep(self) -> None:
        """Renew the open reservations until cancelled."""
        while True:
            await asyncio.sleep(_RENEW_SECONDS)
            try:
                async with self._sessions.begin() as session:
                    await renew(session, self._held)
            except (DBAPIError, PoolTimeoutError) as error:
                log.warning("the reservations of model calls could not be renewed, retrying: %s", error)

    async def _try_whole(self, payer: Payer, estimate: Estimate) -> Reserved | Refused | Busy:
        """Try once. If this is cancelled meanwhile, the reservation is ended again."""
        trying = asyncio.create_task(self._try(payer, estimate))
        try:
            return await asyncio.shield(trying)
        except asyncio.CancelledError:
            outcome = await trying
            if isinstance(outcome, Reserved):
                async with self._sessions.begin() as session:
                    await settle(session, outcome.reservation_id)
                self.release(outcome.reservation_id)
            raise

    async def _try(self, payer: Payer, estimate: Estimate) -> Reserved | Refused | Busy:
        async with self._sessions.begin() as session:
            outcome = await payer.reserve(session, estimate, gateway_id=self._gateway_id)
        if isinstance(outcome, Reserved):
            self._held.add(outcome.reservation_id)
        return outcome
