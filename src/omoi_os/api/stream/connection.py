"""One WebSocket: the client's operations, and a task for the backfill of each subscription."""

import asyncio
import logging
from collections.abc import Awaitable, Callable

from sqlalchemy.exc import SQLAlchemyError
from starlette.websockets import WebSocket

from omoi_os.errors import DatabaseUnavailable, OmoiError, TooMany
from omoi_os.stream.backfill import backfill
from omoi_os.stream.client import TRY_AGAIN, Client, Subscription
from omoi_os.stream.filters import Filter
from omoi_os.stream.hub import Hub
from omoi_os.stream.requests import Operation, Ping, Subscribe, Wanted, parse_line

log = logging.getLogger(__name__)

MAX_SUBSCRIPTIONS = 32

Check = Callable[[Filter], Awaitable[None]]


class Connection:
    """Carries out the client's operations. `check` raises `NotFound` for a filter that the client may not use."""

    def __init__(self, hub: Hub, client: Client, check: Check) -> None:
        self._hub = hub
        self._client = client
        self._check = check
        self._tasks: dict[str, asyncio.Task[None]] = {}

    async def serve(self, websocket: WebSocket, first: Wanted | None) -> None:
        """Serve until the client disconnects."""
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
            self._client.send_control("error", code=error.code, detail=str(error))
        except (SQLAlchemyError, OSError):
            self._client.send_control("error", code=DatabaseUnavailable.code, detail=str(DatabaseUnavailable()))

    async def _carry_out(self, operation: Operation) -> None:
        if isinstance(operation, Ping):
            self._client.send_control("pong")
        elif isinstance(operation, Subscribe):
            wanted = operation.wanted()
            if wanted.name not in self._client.subscriptions and len(self._client.subscriptions) >= MAX_SUBSCRIPTIONS:
                raise TooMany(f"this connection has {MAX_SUBSCRIPTIONS} subscriptions; unsubscribe from one first")
            await self._check(wanted.where)
            await self._unsubscribe(wanted.name)
            self._subscribe(wanted, announce=True)
        else:
            await self._unsubscribe(operation.id)
            self._client.send_control("unsubscribed", subscription=operation.id)

    def _subscribe(self, wanted: Wanted, *, announce: bool) -> None:
        since = wanted.since or self._hub.position
        if not self._client.subscriptions:
            self._client.position = since
        subscription = Subscription(wanted.name, wanted.where, self._client, since)
        self._client.subscriptions[wanted.name] = subscription
        if announce:
            self._client.send_control("subscribed", subscription=wanted.name, id=str(since))
        self._tasks[wanted.name] = asyncio.create_task(self._backfill(subscription, announce=announce))

    async def _unsubscribe(self, name: str) -> None:
        if task := self._tasks.pop(name, None):
            task.cancel()
            await asyncio.gather(task, return_exceptions=True)
        if subscription := self._client.subscriptions.pop(name, None):
            self._hub.drop_subscription(subscription)

    async def _backfill(self, subscription: Subscription, *, announce: bool) -> None:
        """Bring a subscription to the present; on an error close the connection, so that the client resumes."""
        try:
            await backfill(self._hub, subscription)
        except (OmoiError, SQLAlchemyError, OSError) as error:
            log.warning("stream: the backfill of a subscription failed: %s", str(error).partition("\n")[0])
            self._client.socket.hang_up(TRY_AGAIN, "the stream could not be read; reconnect in a moment")
            return
        if announce:
            self._client.send_control("live", subscription=subscription.name, id=str(self._hub.position))
