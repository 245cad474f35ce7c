"""A client that calls models for a payer: with its credential, within its budget, with the usage recorded."""

from dataclasses import dataclass

from omoi_os.db.base import Sessions
from omoi_os.gateway.model.metered.calls import MeteredCall
from omoi_os.gateway.model.metered.credentials import CallPurpose, CredentialResolver
from omoi_os.gateway.model.metered.payers import Payer
from omoi_os.gateway.model.metered.prices import PriceTable
from omoi_os.gateway.model.metered.reservations import Reservations


@dataclass(frozen=True, slots=True)
class ModelClient:
    """Makes metered calls. The gateway makes them for sandboxes; other payers need no sandbox.

    call = await client.call(payer, purpose)
    try:
        reserved = await call.reserve(call.estimate(content, body))
        reply = await call.read(await call.open("/v1/messages", body, headers={}))
    finally:
        await call.end()
    """

    sessions: Sessions
    credentials: CredentialResolver
    prices: PriceTable
    reservations: Reservations

    async def call(self, payer: Payer, purpose: CallPurpose) -> MeteredCall:
        """Prepare one call with the payer's credential. Every call must be ended with `MeteredCall.end`."""
        upstream = await self.credentials.resolve(payer, purpose)
        return MeteredCall(payer, upstream, sessions=self.sessions, prices=self.prices, reservations=self.reservations)
