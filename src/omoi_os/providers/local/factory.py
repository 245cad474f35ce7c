"""Makes the local provider from the settings."""

from omoi_os.config import Settings
from omoi_os.providers.base import SandboxProvider
from omoi_os.providers.local.host.provider import LocalProvider


def make(settings: Settings) -> SandboxProvider:
    """Sandboxes below the data folder. Raises `SetupError`, with the remedy, if this machine cannot make them."""
    provider = LocalProvider(settings.sandboxes_dir, site=lambda: settings.site)
    provider.check()
    return provider
