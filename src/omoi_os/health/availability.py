"""Whether providers can make sandboxes, asked for now and then."""

import asyncio
import time
from collections.abc import Iterable
from dataclasses import dataclass

from omoi_os.config import Settings
from omoi_os.errors import ConfigError, ProviderError, SetupError
from omoi_os.providers.base import Limits
from omoi_os.providers.registry import ProviderName, close_provider, make_provider

#: For so long an answer is given again.
REMEMBERED_SECONDS = 60.0


@dataclass(frozen=True, slots=True)
class Tried:
    """How a provider answered when it was last tried."""

    #: Why it cannot make sandboxes; None if it can.
    reason: str | None = None
    #: How it limits a sandbox's resources; None if it cannot make sandboxes.
    limits: Limits | None = None


class Availability:
    """Tries providers out as an orchestrator would, off the loop and not more often than once a minute."""

    def __init__(self, settings: Settings) -> None:
        self._settings = settings
        self._known: dict[str, tuple[float, Tried]] = {}
        self._asking = asyncio.Lock()

    async def of(self, names: Iterable[str]) -> dict[str, Tried]:
        """How each of these answered."""
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
