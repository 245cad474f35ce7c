"""One WebSocket from its first subscription to its last: what the client asks, and the tasks that bring it."""

import asyncio
import logging
from collections.abc import Awaitable, Callable

from sqlalchemy.exc import SQLAlchemyError
from starlette.websockets import WebSocket

from omoi_os.errors import NotReady, OmoiError, TooMany
from omoi_os.stream.catch_up import catch_up
from omoi_os.stream.client import TRY_AGAIN, Listener, Subscription
from omoi_os.stream.filters import Filter
from omoi_os.stream.hub import Hub
from omoi_os.stream.requests import Operation, Ping, Subscribe, Wanted, parse_line

log = logging.getLogger(__name__)

MAX_SUBSCRIPTIONS = 32

Check = Callable[[Filter], Awaitable[None]]


class Conversation:
    """Listens to the client while the hub tells it what it wants. `check` raises for what the client may not see."""

    def __init__(self, hub: Hub, listener: Listener, check: Check) -> None:
        self._hub = hub
        self._listener = listener
        self._check = check
        self._tasks: dict[str, asyncio.Task[None]] = {}

    async def hold(self, websocket: WebSocket, first: Wanted | None) -> None:
        """Until the client is gone."""
        try:
            if first is not None:
                self._subscribe(first, announce=False)
            while (message := await websocket.receive())["type"] == "websocket.receive":
                await self._answer(message.get("text") or message.get("bytes") or "")
        finally:
            for task in self._tasks.values():
                task.cancel()
            await asyncio.gather(*self._tasks.values(), return_exceptions=True)

    async def _answer(self, line: str | bytes) -> None:
        try:
            await self._carry_out(parse_line(line))
        except OmoiError as error:
            self._listener.say("error", code=error.code, detail=str(error))
        except (SQLAlchemyError, OSError):
            self._listener.say("error", code=NotReady.code, detail="the database does not answer; try again")

    async def _carry_out(self, operation: Operation) -> None:
        if isinstance(operation, Ping):
            self._listener.say("pong")
        elif isinstance(operation, Subscribe):
            wanted = operation.wanted()
            if (
                wanted.name not in self._listener.subscriptions
                and len(self._listener.subscriptions) >= MAX_SUBSCRIPTIONS
            ):
                raise TooMany(
                    f"at most {MAX_SUBSCRIPTIONS} subscriptions fit one connection; unsubscribe from one first"
                )
            await self._check(wanted.where)
            await self._unsubscribe(wanted.name)
            self._subscribe(wanted, announce=True)
        else:
            await self._unsubscribe(operation.id)
            self._listener.say("unsubscribed", subscription=operation.id)

    def _subscribe(self, wanted: Wanted, *, announce: bool) -> None:
        since = wanted.since or self._hub.position
        if not self._listener.subscriptions:
            self._listener.position = since
        subscription = Subscription(wanted.name, wanted.where, self._listener, since)
        self._listener.subscriptions[wanted.name] = subscription
        if announce:
            self._listener.say("subscribed", subscription=wanted.name, id=str(since))
        self._tasks[wanted.name] = asyncio.create_task(self._bring(subscription, announce=announce))

    async def _unsubscribe(self, name: str) -> None:
        if task := self._tasks.pop(name, None):
            task.cancel()
            await asyncio.gather(task, return_exceptions=True)
        if subscription := self._listener.subscriptions.pop(name, None):
            self._hub.drop_subscription(subscription)

    async def _bring(self, subscription: Subscription, *, announce: bool) -> None:
        """Catch up; what fails here is told by closing, so that the client resumes."""
        try:
            await catch_up(self._hub, subscription)
        except (OmoiError, SQLAlchemyError, OSError) as error:
            log.warning("stream: a client could not catch up: %s", str(error).partition("\n")[0])
            self._listener.socket.hang_up(TRY_AGAIN, "the stream could not be read; resume in a moment")
            return
        if announce:
            self._listener.say("live", subscription=subscription.name, id=str(self._hub.position))
