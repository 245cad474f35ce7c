"""Whether providers can make sandboxes, asked for now and then."""

import asyncio
import time
from collections.abc import Iterable

from omoi_os.config import Settings
from omoi_os.errors import ConfigError, ProviderError, SetupError
from omoi_os.providers.registry import PROVIDERS, close_provider, make_provider

#: For so long an answer is given again.
REMEMBERED_SECONDS = 60.0


class Availability:
    """Tries providers out as an orchestrator would, off the loop and not more often than once a minute."""

    def __init__(self, settings: Settings) -> None:
        self._settings = settings
        self._known: dict[str, tuple[float, str | None]] = {}
        self._asking = asyncio.Lock()

    async def of(self, names: Iterable[str]) -> dict[str, str | None]:
        """Why each of these cannot make sandboxes; None for one that can."""
        async with self._asking:
            return {name: await self._ask(name) for name in sorted(set(names))}

    async def _ask(self, name: str) -> str | None:
        asked, reason = self._known.get(name, (-REMEMBERED_SECONDS, None))
        if time.monotonic() - asked >= REMEMBERED_SECONDS:
            reason = await self._try(name)
            self._known[name] = (time.monotonic(), reason)
        return reason

    async def _try(self, name: str) -> str | None:
        if name not in PROVIDERS:
            return f"there is no provider {name!r}; known are {', '.join(PROVIDERS)}"
        try:
            provider = await asyncio.to_thread(make_provider, self._settings, name)
        except (SetupError, ConfigError, ProviderError) as error:
            return str(error)
        await close_provider(provider)
        return None
