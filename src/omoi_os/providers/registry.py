"""Which provider a name means. Adding one is a file and a line here."""

import importlib
from typing import Protocol, cast

from omoi_os.config import Settings
from omoi_os.errors import ConfigError
from omoi_os.providers.base import Connected, SandboxProvider

#: Each module has `make(settings) -> SandboxProvider`; it is loaded when it is first asked for, as some need packages
#: that not every installation has.
PROVIDERS = {
    "local": "omoi_os.providers.local.factory",
    "docker": "omoi_os.providers.docker.factory",
    "daytona": "omoi_os.providers.daytona.factory",
}


class _Factory(Protocol):
    def make(self, settings: Settings) -> SandboxProvider: ...


def make_provider(settings: Settings, name: str | None = None) -> SandboxProvider:
    """The provider of this name, or the one that the settings choose.

    Raises `SetupError`, with the remedy, if it cannot work here, and `ConfigError` for a name that is not known.
    """
    wanted = name or settings.sandbox_provider
    if wanted not in PROVIDERS:
        raise ConfigError(f"there is no provider {wanted!r}; known are {', '.join(PROVIDERS)}")
    factory = cast("_Factory", importlib.import_module(PROVIDERS[wanted]))
    return factory.make(settings)


async def close_provider(provider: SandboxProvider) -> None:
    """Let go of a provider's connections, if it holds any; it is not used after that."""
    if isinstance(provider, Connected):
        await provider.close()
