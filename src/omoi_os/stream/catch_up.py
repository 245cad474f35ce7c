"""Brings a subscription from where it was left to the present, with no gap and nothing twice."""

import asyncio
from collections.abc import Sequence

from omoi_os.errors import NotReady
from omoi_os.stream import reader
from omoi_os.stream.client import MAX_BUFFERED, TOO_SLOW, Subscription
from omoi_os.stream.hub import Hub
from omoi_os.stream.position import BEGINNING, Position
from omoi_os.stream.reader import Item

#: A client that takes nothing for so long while it catches up is gone or too slow.
PATIENCE_SECONDS = 30.0


async def catch_up(hub: Hub, subscription: Subscription) -> None:
    """Bring everything behind `since`, first from the table, then from what the hub has at hand, then live.

    What is older than the outbox reaches is told as a `resync`, and the subscription begins now.
    """
    listener = subscription.listener
    async with listener.catching_up:
        if subscription.since == BEGINNING:
            async with hub.reading() as connection:
                subscription.since = await reader.oldest(connection)
        after = subscription.since
        if after > hub.position:
            # Another process was ahead of this one, or it is no position of this database.
            async with hub.reading() as connection:
                if not await reader.is_whole_after(connection, after):
                    after = _begin_now(hub, subscription)
        while (items := hub.recent(after)) is None or _size(items) > MAX_BUFFERED:
            if items is not None:
                after = await _bring(subscription, _slice(items))
                continue
            found, end = await _from_table(hub, subscription, after)
            if found is None:
                after = _begin_now(hub, subscription)
                continue
            await _bring(subscription, found)
            after = end
        _write(subscription, items)
        hub.go_live(subscription)


def _begin_now(hub: Hub, subscription: Subscription) -> Position:
    """Not everything behind `since` is there: say so, and begin with what comes from now on."""
    subscription.since = hub.position
    reason = "since is older than what was kept; look at everything"
    subscription.listener.say("resync", id=str(subscription.since), reason=reason)
    return subscription.since


async def _from_table(hub: Hub, subscription: Subscription, after: Position) -> tuple[Sequence[Item] | None, Position]:
    """The next items of the table up to where the hub is, which tells the later ones itself; None if some are gone."""
    async with hub.reading() as connection:
        page = await reader.read(
            connection,
            after,
            where=subscription.where,
            owner=subscription.listener.viewer.owner,
            foreign=hub.foreign,
        )
        if not await reader.is_whole_after(connection, after):
            return None, after
    reached = hub.position
    return [item for item in page.items if item.position <= reached], min(page.end, max(reached, after))


async def _bring(subscription: Subscription, items: Sequence[Item]) -> Position:
    """Write items and wait until the client has taken them; returns the last one's position."""
    listener = subscription.listener
    for begin in range(0, len(items), 20):
        _write(subscription, items[begin : begin + 20])
        try:
            async with asyncio.timeout(PATIENCE_SECONDS):
                await listener.socket.drained()
        except TimeoutError:
            listener.say("resync", id=str(listener.resumable), reason="too slow; resume with since")
            listener.socket.hang_up(TOO_SLOW, "too slow; resume with since")
            raise NotReady("the client takes nothing") from None
    return items[-1].position if items else subscription.since


def _write(subscription: Subscription, items: Sequence[Item]) -> None:
    """Hand over what it wants and no other subscription has brought."""
    listener = subscription.listener
    for item in items:
        if subscription.wants(item) and not listener.was_told(item):
            listener.position = item.position
            listener.socket.write(item.frame)
        subscription.reached = item.position


def _size(items: Sequence[Item]) -> int:
    return sum(len(item.frame) for item in items)


def _slice(items: Sequence[Item]) -> Sequence[Item]:
    """The first items that a socket takes at once; at least one."""
    size = 0
    for number, item in enumerate(items):
        size += len(item.frame)
        if size > MAX_BUFFERED:
            return items[: number + 1]
    return items
