"""The providers that are in use: each is made when it is first needed."""

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

#: How long a provider that could not be made is left alone.
RETRY_SECONDS = 30.0


class Providers:
    """Providers by name."""

    def __init__(self, settings: Settings) -> None:
        self._settings = settings
        self._made: dict[str, SandboxProvider] = {}
        self._failed: dict[str, tuple[float, str]] = {}

    def get(self, name: str) -> SandboxProvider:
        """The provider of this name. Raises `ProviderUnavailable` if it cannot work here now."""
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
        """Whether `get` answers at once: it is made, or could not be a moment ago."""
        tried, _ = self._failed.get(name, (-RETRY_SECONDS, ""))
        return name in self._made or time.monotonic() - tried < RETRY_SECONDS

    async def prepare(self, names: Iterable[str]) -> None:
        """Make those that are not there yet, off the loop: some load a lot. One that fails is tried again later."""
        for name in names:
            if name not in self._made:
                with contextlib.suppress(ProviderUnavailable):
                    await asyncio.to_thread(self.get, name)

    def add(self, provider: SandboxProvider) -> None:
        """Use this one under its name."""
        self._made[provider.name] = provider

    async def close(self) -> None:
        """Let go of the connections of all of them, each on its own; none is used after that."""
        made, self._made = self._made, {}
        ends = await asyncio.gather(*map(close_provider, made.values()), return_exceptions=True)
        for name, end in zip(made, ends, strict=True):
            if isinstance(end, BaseException):
                log.warning("the connections of provider %s were not closed in order", name, exc_info=end)

    @property
    def default(self) -> SandboxProvider:
        """The one that the settings choose."""
        return self.get(self._settings.sandbox_provider)

    def name_for(self, project: Project) -> str:
        """The one that a project chooses, else the installation's."""
        return str(project.settings.get("provider") or self._settings.sandbox_provider)

    def __iter__(self) -> Iterator[SandboxProvider]:
        return iter(list(self._made.values()))
