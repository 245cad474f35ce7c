"""The providers by name. Adding one is a folder `providers/<name>/` and a line here."""

import importlib
from enum import StrEnum
from typing import TYPE_CHECKING, Protocol, cast

from omoi_os.errors import ConfigError
from omoi_os.providers.base import Connected, SandboxProvider

if TYPE_CHECKING:
    # The settings take the names of the providers from here.
    from omoi_os.config import Settings


class ProviderName(StrEnum):
    """A provider as `SANDBOX_PROVIDER` and a project's settings name it: the folder that contains its `factory.py`."""

    LOCAL = "local"
    DOCKER = "docker"
    DAYTONA = "daytona"


class _Factory(Protocol):
    def make(self, settings: "Settings") -> SandboxProvider: ...


def make_provider(settings: "Settings", name: str | None = None) -> SandboxProvider:
    """Return the provider of this name, or the one that the settings choose.

    Its module is loaded on first use because some need packages that not every installation has. Raises `SetupError`,
    with the remedy, if it cannot work here, and `ConfigError` for an unknown name.
    """
    wanted = name or settings.sandbox_provider
    if wanted not in list(ProviderName):
        raise ConfigError(f"there is no provider {wanted!r}; choose one of {', '.join(ProviderName)}")
    factory = cast("_Factory", importlib.import_module(f"omoi_os.providers.{wanted}.factory"))
    return factory.make(settings)


async def close_provider(provider: SandboxProvider) -> None:
    """Close the connections of a provider that holds any. It is not used afterwards."""
    if isinstance(provider, Connected):
        await provider.close()
