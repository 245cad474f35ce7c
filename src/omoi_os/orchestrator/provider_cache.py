"""The providers in use, each created when it is first needed."""

import asyncio
import contextlib
import logging
import time
from collections.abc import Iterable, Iterator

from omoi_os.config import Settings
from omoi_os.errors import ConfigError, ProviderUnavailable, SetupError
from omoi_os.projects.models import Project
from omoi_os.providers.base import SandboxProvider
from omoi_os.providers.registry import close_provider, make_provider

log = logging.getLogger(__name__)

#: The pause before creating a provider is retried.
RETRY_SECONDS = 30.0


class Providers:
    """A cache of providers by name."""

    def __init__(self, settings: Settings) -> None:
        self._settings = settings
        self._made: dict[str, SandboxProvider] = {}
        self._failed: dict[str, tuple[float, str]] = {}

    def get(self, name: str) -> SandboxProvider:
        """Return the provider of this name. Raise `ProviderUnavailable` if it cannot work here now."""
        if name in self._made:
            return self._made[name]
        tried, why = self._failed.get(name, (-RETRY_SECONDS, ""))
        if time.monotonic() - tried < RETRY_SECONDS:
            raise ProviderUnavailable(why)
        try:
            self._made[name] = make_provider(self._settings, name)
        except (SetupError, ConfigError) as error:
            self._failed[name] = (time.monotonic(), str(error))
            raise ProviderUnavailable(str(error)) from error
        return self._made[name]

    def was_tried(self, name: str) -> bool:
        """Return whether `get` answers without creating the provider: it exists, or creating it failed recently."""
        tried, _ = self._failed.get(name, (-RETRY_SECONDS, ""))
        return name in self._made or time.monotonic() - tried < RETRY_SECONDS

    async def prepare(self, names: Iterable[str]) -> None:
        """Create missing providers in a thread, because some load large libraries. Failures are retried later."""
        for name in names:
            if name not in self._made:
                with contextlib.suppress(ProviderUnavailable):
                    await asyncio.to_thread(self.get, name)

    def add(self, provider: SandboxProvider) -> None:
        """Use this provider under its name."""
        self._made[provider.name] = provider

    async def close(self) -> None:
        """Close the connections of all providers. None may be used afterwards."""
        made, self._made = self._made, {}
        ends = await asyncio.gather(*map(close_provider, made.values()), return_exceptions=True)
        for name, end in zip(made, ends, strict=True):
            if isinstance(end, BaseException):
                log.warning("closing the connections of provider %s failed", name, exc_info=end)

    @property
    def default(self) -> SandboxProvider:
        """Return the provider that the settings choose."""
        return self.get(self._settings.sandbox_provider)

    def name_for(self, project: Project) -> str:
        """Return the name of the project's provider, or of the installation's."""
        return str(project.settings.get("provider") or self._settings.sandbox_provider)

    def __iter__(self) -> Iterator[SandboxProvider]:
        return iter(list(self._made.values()))
