"""Brings a subscription from its position to the present, without a gap and without sending an item twice."""

import asyncio
from collections.abc import Sequence

from omoi_os.errors import NotReady
from omoi_os.stream import reader
from omoi_os.stream.client import MAX_BUFFERED, TOO_SLOW, Subscription
from omoi_os.stream.hub import Hub
from omoi_os.stream.position import BEGINNING, Position
from omoi_os.stream.reader import Item

#: A client that reads nothing for this long during a backfill is gone or too slow.
PATIENCE_SECONDS = 30.0


async def backfill(hub: Hub, subscription: Subscription) -> None:
    """Send everything behind `since`, first from the table, then from the hub's recent items, then go live.

    If `since` is older than the outbox, send a `resync` and start at the present.
    """
    client = subscription.client
    async with client.backfilling:
        if subscription.since == BEGINNING:
            async with hub.reading() as connection:
                subscription.since = await reader.oldest(connection)
        after = subscription.since
        if after > hub.position:
            # Another process was ahead of this one, or the position is not from this database.
            async with hub.reading() as connection:
                if not await reader.is_whole_after(connection, after):
                    after = _start_now(hub, subscription)
        while (items := hub.recent(after)) is None or _size(items) > MAX_BUFFERED:
            if items is not None:
                after = await _send(subscription, _slice(items))
                continue
            found, end = await _from_table(hub, subscription, after)
            if found is None:
                after = _start_now(hub, subscription)
                continue
            await _send(subscription, found)
            after = end
        _write(subscription, items)
        hub.go_live(subscription)


def _start_now(hub: Hub, subscription: Subscription) -> Position:
    """Send a `resync`, because rows behind `since` were deleted, and start at the present."""
    subscription.since = hub.position
    reason = "since is older than the changes that were kept; reload everything"
    subscription.client.send_control("resync", id=str(subscription.since), reason=reason)
    return subscription.since


async def _from_table(hub: Hub, subscription: Subscription, after: Position) -> tuple[Sequence[Item] | None, Position]:
    """Return the next items of the table up to the hub's position; None if some were deleted."""
    async with hub.reading() as connection:
        page = await reader.read(
            connection,
            after,
            where=subscription.where,
            viewer=subscription.client.viewer.restricted_to,
            foreign=hub.foreign,
        )
        if not await reader.is_whole_after(connection, after):
            return None, after
    reached = hub.position
    return [item for item in page.items if item.position <= reached], min(page.end, max(reached, after))


async def _send(subscription: Subscription, items: Sequence[Item]) -> Position:
    """Send items, wait until the client has read them, and return the position of the last one."""
    client = subscription.client
    for start in range(0, len(items), 20):
        _write(subscription, items[start : start + 20])
        try:
            async with asyncio.timeout(PATIENCE_SECONDS):
                await client.socket.drained()
        except TimeoutError:
            client.send_control("resync", id=str(client.resumable), reason="too slow; resume with since")
            client.socket.hang_up(TOO_SLOW, "too slow; resume with since")
            raise NotReady("the client stopped reading") from None
    return items[-1].position if items else subscription.since


def _write(subscription: Subscription, items: Sequence[Item]) -> None:
    """Write the items that match and that no other subscription has delivered."""
    client = subscription.client
    for item in items:
        if subscription.wants(item) and not client.was_sent(item):
            client.position = item.position
            client.socket.write(item.frame)
        subscription.reached = item.position


def _size(items: Sequence[Item]) -> int:
    return sum(len(item.frame) for item in items)


def _slice(items: Sequence[Item]) -> Sequence[Item]:
    """Return the first items that fit into the buffer; at least one."""
    size = 0
    for number, item in enumerate(items):
        size += len(item.frame)
        if size > MAX_BUFFERED:
            return items[: number + 1]
    return items
