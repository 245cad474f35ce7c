"""One metered model call: its reservation, its answer, and the usage that is recorded for its payer."""

import asyncio
import logging
from collections.abc import Mapping
from contextlib import suppress
from typing import Any
from uuid import UUID

from aiohttp import ClientError, ClientPayloadError, ClientResponse
from sqlalchemy.exc import DBAPIError
from sqlalchemy.exc import TimeoutError as PoolTimeoutError

from omoi_os.db.base import Sessions
from omoi_os.gateway.model.metered.estimates import estimate
from omoi_os.gateway.model.metered.payers import Payer
from omoi_os.gateway.model.metered.prices import PriceTable, Usage
from omoi_os.gateway.model.metered.reservations import Reservations
from omoi_os.gateway.model.metered.upstream import Upstream
from omoi_os.gateway.model.metered.usage import UsageReader
from omoi_os.sandboxes.reservations import Estimate, Refused, Reserved, settle

log = logging.getLogger(__name__)

#: The Messages API's own limit, for requests and for answers that are not streamed.
MAX_BODY_BYTES = 32 * 1024 * 1024
#: How long to wait for the usage of a call whose caller has disconnected.
_USAGE_SECONDS = 300.0
_RETRY_SECONDS = (0.2, 1.0, 5.0, 15.0)


class MeteredCall:
    """Reserve, open, read, end: in this order. `end` must be called whatever happens."""

    def __init__(
        self, payer: Payer, upstream: Upstream, *, sessions: Sessions, prices: PriceTable, reservations: Reservations
    ) -> None:
        self.payer = payer
        self.upstream = upstream
        self._sessions = sessions
        self._prices = prices
        self._reservations = reservations
        self._reader = UsageReader()
        self._opening: asyncio.Task[ClientResponse] | None = None
        self._recording = asyncio.Lock()
        self._recorded_tokens = 0
        self._recorded_usd = 0.0
        self._reservation_id: UUID | None = None
        self._ended = False

    @property
    def model(self) -> str:
        """Return the requested model, or the exact model once the answer names it."""
        return self._reader.model

    @model.setter
    def model(self, name: str) -> None:
        self._reader.model = name

    def estimate(self, content: dict[str, Any], body: bytes, *, model: str) -> Estimate:
        """Estimate the cost of a request: `content`, and `body` as it is sent."""
        return estimate(content, body, prices=self._prices, model="scripted" if self.upstream.scripted else model)

    async def reserve(self, estimate: Estimate) -> Reserved | Refused:
        """Reserve the estimated cost until the usage is recorded. Raises `TooMany`."""
        outcome = await self._reservations.take(self.payer, estimate)
        if isinstance(outcome, Reserved):
            self._reservation_id = outcome.reservation_id
        return outcome

    async def open(self, path_and_query: str, body: bytes, *, headers: Mapping[str, str]) -> ClientResponse:
        """Send the call and return when its answer starts. Raises `ClientError` or `TimeoutError`.

        The upstream charges for the call from now on, so cancelling this does not cancel the call.
        """
        sending = self.upstream.open(path_and_query, body, headers=headers, payer=self.payer)
        self._opening = asyncio.create_task(sending)
        return await asyncio.shield(self._opening)

    async def feed(self, chunk: bytes) -> None:
        """Meter one chunk of a stream.

        The usage is recorded before the last chunk is passed on, so the next call sees the full sum.
        """
        self._reader.feed(chunk)
        if self._reader.finished:
            await self._record()

    async def read(self, answer: ClientResponse) -> bytes:
        """Read an answer that is not streamed, and record its usage. Raises `ClientError` or `TimeoutError`."""
        body = bytearray()
        async for chunk in answer.content.iter_any():
            body += chunk
            if len(body) > MAX_BODY_BYTES:
                raise ClientPayloadError("too large")
        whole = bytes(body)
        if answer.status == 200:
            self._reader.read_message(whole)
            await self._record()
        return whole

    async def end(self) -> None:
        """Read the usage if it is not known yet, close the connection, record the usage and end the reservation."""
        answer = await self._wait_for_answer()
        if answer is not None:
            await self._read_usage(answer)
            answer.close()
        self._ended = True
        for seconds in _RETRY_SECONDS:
            if await self._record():
                return
            await asyncio.sleep(seconds)
        if self._reservation_id is not None:
            self._reservations.release(self._reservation_id)
        log.error("the usage of a model call of %s is lost: %s", self.payer.name, self._reader.usage)

    async def _wait_for_answer(self) -> ClientResponse | None:
        if self._opening is None:
            return None
        with suppress(ClientError, TimeoutError):
            async with asyncio.timeout(_USAGE_SECONDS):
                return await self._opening
        return None

    async def _read_usage(self, answer: ClientResponse) -> None:
        """Read until the usage of the input is known: at the start of a stream, at the end of any other answer."""
        if answer.status != 200 or self._reader.started:
            return
        whole = bytearray()
        with suppress(ClientError, TimeoutError):
            async with asyncio.timeout(_USAGE_SECONDS):
                async for chunk in answer.content.iter_any():
                    if answer.content_type != "text/event-stream":
                        whole += chunk
                        continue
                    self._reader.feed(chunk)
                    if self._reader.started:
                        return
        if whole:
            self._reader.read_message(bytes(whole))

    async def _record(self) -> bool:
        """Record usage that is not recorded yet. Return False when the database does not answer.

        Shielded: a caller that disconnects meanwhile must not leave it unknown whether the usage was recorded.
        """
        return await asyncio.shield(asyncio.create_task(self._record_new()))

    async def _record_new(self) -> bool:
        async with self._recording:
            return await self._record_difference(self._reader.usage)

    async def _record_difference(self, usage: Usage) -> bool:
        tokens = usage.total - self._recorded_tokens
        cost = self._prices.cost_usd(self._reader.model, usage) - self._recorded_usd
        reservation_id = self._reservation_id if self._reader.finished or self._ended else None
        if tokens <= 0 and cost <= 0 and reservation_id is None:
            return True
        try:
            async with self._sessions.begin() as session:
                await self.payer.add_usage(session, tokens=tokens, cost_usd=cost, simulated=self.upstream.scripted)
                if reservation_id is not None:
                    await settle(session, reservation_id)
        except (DBAPIError, PoolTimeoutError) as error:
            log.warning("the usage of %s is not recorded yet: %s", self.payer.name, error)
            return False
        self._recorded_tokens, self._recorded_usd = usage.total, self._recorded_usd + cost
        if reservation_id is not None:
            self._reservation_id = None
            self._reservations.release(reservation_id)
        return True
