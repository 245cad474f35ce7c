"""Which provider a setting names."""

from collections.abc import Callable

from omoi_os.config import Settings
from omoi_os.providers.base import SandboxProvider
from omoi_os.providers.local.provider import LocalProvider


def _local(settings: Settings) -> LocalProvider:
    provider = LocalProvider(settings.sandboxes_dir)
    provider.check()
    return provider


PROVIDERS: dict[str, Callable[[Settings], SandboxProvider]] = {"local": _local}


def make_provider(settings: Settings) -> SandboxProvider:
    """The provider that the settings choose. Raises `SetupError`, with the remedy, if it cannot work here."""
    return PROVIDERS[settings.sandbox_provider](settings)
