"""Index of live subscriptions by sandbox and project, so that an item is not matched against all of them."""

from collections.abc import Iterator
from typing import Any

from omoi_os.stream.client import Subscription
from omoi_os.stream.reader import Item


class Index:
    """Live subscriptions, each under the sandbox or project that it names."""

    def __init__(self) -> None:
        self._by_key: dict[Any, dict[Subscription, None]] = {}

    def add(self, subscription: Subscription) -> None:
        """Add a subscription."""
        self._by_key.setdefault(_key(subscription), {})[subscription] = None

    def discard(self, subscription: Subscription) -> None:
        """Remove a subscription."""
        key = _key(subscription)
        under = self._by_key.get(key, {})
        under.pop(subscription, None)
        if not under:
            self._by_key.pop(key, None)

    def candidates(self, item: Item) -> Iterator[Subscription]:
        """Yield the subscriptions that may match an item. Subscriptions may be removed meanwhile."""
        if item.sandbox_id in self._by_key and item.sandbox_id is not None:
            yield from list(self._by_key[item.sandbox_id])
        for key in (item.project_id, None):
            if key in self._by_key:
                yield from list(self._by_key[key])


def _key(subscription: Subscription) -> Any:
    where = subscription.where
    return where.sandbox_id or where.project_id
