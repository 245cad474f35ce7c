"""The inbox: waits for messages beside the agent, passes each on once, and reports its delivery."""

from __future__ import annotations

import asyncio
import contextlib
import random
import time
from collections.abc import Awaitable, Callable, Sequence
from typing import NoReturn

from omoi_os.protocol.events import EventType
from omoi_os.protocol.messages import Message
from omoi_os.worker.reporter.api import Api
from omoi_os.worker.reporter.http import HttpError
from omoi_os.worker.reporter.report import Report

WAIT_SECONDS = 25.0
FIRST_PAUSE_SECONDS = 0.2
LONGEST_PAUSE_SECONDS = 5.0

Send = Callable[[Message], Awaitable[None]]


class Inbox:
    """The messages for the agent. Each is held until it is delivered; a repeated id is ignored."""

    def __init__(self, api: Api, report: Report) -> None:
        self._api = api
        self._report = report
        self._held: dict[str, Message] = {}
        self._known: set[str] = set()
        self._last: str | None = None
        self._delivered: list[str] = []
        self._send: Send | None = None
        self._arrived = asyncio.Event()

    @property
    def waiting(self) -> bool:
        """Whether a message is not delivered yet."""
        return bool(self._held)

    async def listen(self) -> NoReturn:
        """Wait for messages, forever, through any outage. Raises `Superseded`."""
        pause = FIRST_PAUSE_SECONDS
        while True:
            started = time.monotonic()
            try:
                await self._acknowledge()
                found = await self._poll(WAIT_SECONDS)
            except HttpError:
                found = False
            if found or time.monotonic() - started > WAIT_SECONDS / 2:
                pause = FIRST_PAUSE_SECONDS
                continue
            # A server that answers early without a message cannot hold the request now.
            await asyncio.sleep(pause * random.uniform(0.5, 1.0))  # noqa: S311
            pause = min(LONGEST_PAUSE_SECONDS, pause * 2)

    async def check(self, *, seconds: float) -> None:
        """Fetch the messages that are there now, waiting at most this long for an API that is down."""
        pause = FIRST_PAUSE_SECONDS
        with contextlib.suppress(TimeoutError):
            async with asyncio.timeout(seconds):
                while not await self._can_poll():
                    await asyncio.sleep(pause)
                    pause = min(LONGEST_PAUSE_SECONDS, pause * 2)

    async def _can_poll(self) -> bool:
        try:
            await self._poll(0)
        except HttpError:
            return False
        return True

    async def connect(self, send: Send) -> None:
        """Pass on every message from now on, starting with those that wait."""
        self._send = send
        for message in list(self._held.values()):
            await send(message)

    async def wait(self, *, seconds: float) -> bool:
        """Wait for a message. Return whether there is one."""
        with contextlib.suppress(TimeoutError):
            async with asyncio.timeout(seconds):
                while not self._held:
                    self._arrived.clear()
                    await self._arrived.wait()
        return self.waiting

    def forget(self) -> None:
        """Accept delivered messages again: their conversation is lost, and the server queues them again."""
        self._known = set(self._held)
        self._last = None

    def find(self, message_id: object) -> Message | None:
        """Return a message that is not delivered yet."""
        return self._held.get(message_id) if isinstance(message_id, str) else None

    def note_delivered(self, message_id: object) -> None:
        """Spool the receipt of a message, and only then stop holding it."""
        message = self.find(message_id)
        if message is not None:
            self._report.emit(EventType.AGENT_MESSAGE_INJECTED, message.injected() | {"turn": self._report.turn})
            del self._held[message.message_id]
            self._delivered.append(message.message_id)

    async def _poll(self, seconds: float) -> bool:
        found = await self._api.poll_messages(wait=seconds, after=self._last)
        await self._take(found)
        return bool(found)

    async def _take(self, found: Sequence[Message]) -> None:
        fresh = [message for message in found if message.message_id not in self._known]
        for message in fresh:
            self._known.add(message.message_id)
            self._held[message.message_id] = message
            self._last = max(self._last or "", message.message_id)
        if fresh:
            self._arrived.set()
        for message in fresh:
            if self._send is not None:
                await self._send(message)

    async def _acknowledge(self) -> None:
        """Acknowledge delivered messages. Their events say the same, but may wait behind many others."""
        ids = self._delivered[:]
        if ids:
            await self._api.acknowledge_messages(ids)
            del self._delivered[: len(ids)]
