"""Check periodically whether providers can create sandboxes."""

import asyncio
import time
from collections.abc import Iterable
from dataclasses import dataclass

from omoi_os.config import Settings
from omoi_os.errors import ConfigError, ProviderError, SetupError
from omoi_os.providers.base import Limits
from omoi_os.providers.registry import ProviderName, close_provider, make_provider

#: How long an answer is reused.
REMEMBERED_SECONDS = 60.0


@dataclass(frozen=True, slots=True)
class Tried:
    """The last answer of a provider."""

    #: Why it cannot create sandboxes; None if it can.
    reason: str | None = None
    #: How it limits a sandbox's resources; None if it cannot create sandboxes.
    limits: Limits | None = None


class Availability:
    """Try providers as an orchestrator would, outside the event loop and at most once a minute."""

    def __init__(self, settings: Settings) -> None:
        self._settings = settings
        self._known: dict[str, tuple[float, Tried]] = {}
        self._asking = asyncio.Lock()

    async def of(self, names: Iterable[str]) -> dict[str, Tried]:
        """Return the last answer of each of these providers."""
        async with self._asking:
            return {name: await self._ask(name) for name in sorted(set(names))}

    async def _ask(self, name: str) -> Tried:
        asked, tried = self._known.get(name, (-REMEMBERED_SECONDS, Tried()))
        if time.monotonic() - asked >= REMEMBERED_SECONDS:
            tried = await self._try(name)
            self._known[name] = (time.monotonic(), tried)
        return tried

    async def _try(self, name: str) -> Tried:
        if name not in list(ProviderName):
            return Tried(f"there is no provider {name!r}; choose one of {', '.join(ProviderName)}")
        try:
            provider = await asyncio.to_thread(make_provider, self._settings, name)
        except (SetupError, ConfigError, ProviderError) as error:
            return Tried(str(error))
        limits = provider.limits
        await close_provider(provider)
        return Tried(limits=limits)
