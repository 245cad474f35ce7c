"""One model call from its start until it is paid for, which may be after the agent has hung up."""

import asyncio
import logging
from collections.abc import Mapping
from contextlib import suppress
from uuid import UUID

from aiohttp import ClientError, ClientResponse
from sqlalchemy.exc import DBAPIError
from sqlalchemy.exc import TimeoutError as PoolTimeoutError

from omoi_os.gateway.callers import Caller
from omoi_os.gateway.context import Parts
from omoi_os.gateway.model.prices import Usage, cost_usd
from omoi_os.gateway.model.usage import UsageReader
from omoi_os.sandboxes.metering import add_usage
from omoi_os.sandboxes.reservations import Estimate, Refused, Reserved, settle

log = logging.getLogger(__name__)

#: How long to wait for the count of a call whose caller has gone.
_LAST_WORD_SECONDS = 300.0
_RETRY_SECONDS = (0.2, 1.0, 5.0, 15.0)


class Call:
    """Holds one of the sandbox's slots until `end`."""

    def __init__(self, parts: Parts, caller: Caller) -> None:
        self.caller = caller
        self._parts = parts
        self._reader = UsageReader()
        self._opening: asyncio.Task[ClientResponse] | None = None
        self._booking = asyncio.Lock()
        self._paid_tokens = 0
        self._paid_usd = 0.0
        self._reservation_id: UUID | None = None
        self._ended = False

    @property
    def model(self) -> str:
        """The model that is asked; its answer may say more exactly which it was."""
        return self._reader.model

    @model.setter
    def model(self, name: str) -> None:
        self._reader.model = name

    async def reserve(self, estimate: Estimate) -> Reserved | Refused:
        """Reserve what it may cost. The reservation ends when the call is paid for. Raises `TooMany`."""
        outcome = await self._parts.reservations.take(self.caller, estimate)
        if isinstance(outcome, Reserved):
            self._reservation_id = outcome.reservation_id
        return outcome

    async def open(self, path_and_query: str, body: bytes, *, headers: Mapping[str, str]) -> ClientResponse:
        """Send it. The model's host charges for it from now on, so a caller that hangs up does not stop this."""
        sending = self._parts.upstream.open(path_and_query, body, headers=headers, caller=self.caller)
        self._opening = asyncio.create_task(sending)
        return await asyncio.shield(self._opening)

    async def see(self, chunk: bytes) -> None:
        """Meter a piece of a stream. It is paid before its end is passed on: the next call finds the sum complete."""
        self._reader.feed(chunk)
        if self._reader.finished:
            await self._pay()

    async def see_whole(self, body: bytes) -> None:
        """Meter an answer that was not streamed."""
        self._reader.read_message(body)
        await self._pay()

    async def end(self) -> None:
        """Hear what was used, if that is still open, hang up and pay."""
        try:
            answer = await self._answer()
            if answer is not None:
                await self._hear_usage(answer)
                answer.close()
            self._ended = True
            for seconds in _RETRY_SECONDS:
                if await self._pay():
                    return
                await asyncio.sleep(seconds)
            if self._reservation_id is not None:
                self._parts.reservations.release(self._reservation_id)
            log.error("the usage of a model call of sandbox %s is lost: %s", self.caller.sandbox_id, self._reader.usage)
        finally:
            self._parts.model_slots.give_back(self.caller.sandbox_id)

    async def _answer(self) -> ClientResponse | None:
        if self._opening is None:
            return None
        with suppress(ClientError, TimeoutError):
            async with asyncio.timeout(_LAST_WORD_SECONDS):
                return await self._opening
        return None

    async def _hear_usage(self, answer: ClientResponse) -> None:
        """What was put in is told first in a stream, all of it last in anything else."""
        if answer.status != 200 or self._reader.started:
            return
        whole = bytearray()
        with suppress(ClientError, TimeoutError):
            async with asyncio.timeout(_LAST_WORD_SECONDS):
                async for chunk in answer.content.iter_any():
                    if answer.content_type != "text/event-stream":
                        whole += chunk
                        continue
                    self._reader.feed(chunk)
                    if self._reader.started:
                        return
        if whole:
            self._reader.read_message(bytes(whole))

    async def _pay(self) -> bool:
        """Book what is not booked yet; False when the database does not answer.

        A caller that hangs up in the middle must not leave it open whether this was booked.
        """
        return await asyncio.shield(asyncio.create_task(self._book()))

    async def _book(self) -> bool:
        async with self._booking:
            return await self._book_difference(self._reader.usage)

    async def _book_difference(self, usage: Usage) -> bool:
        tokens, cost = usage.total - self._paid_tokens, cost_usd(self._reader.model, usage) - self._paid_usd
        reservation_id = self._reservation_id if self._reader.finished or self._ended else None
        if tokens <= 0 and cost <= 0 and reservation_id is None:
            return True
        try:
            async with self._parts.sessions.begin() as session:
                simulated = self._parts.upstream.scripted
                await add_usage(session, self.caller.sandbox_id, tokens=tokens, cost_usd=cost, simulated=simulated)
                if reservation_id is not None:
                    await settle(session, reservation_id)
        except (DBAPIError, PoolTimeoutError) as error:
            log.warning("the usage of sandbox %s is not booked yet: %s", self.caller.sandbox_id, error)
            return False
        self._paid_tokens, self._paid_usd = usage.total, self._paid_usd + cost
        if reservation_id is not None:
            self._reservation_id = None
            self._parts.reservations.release(reservation_id)
        return True
